package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
)

// owned is what every row of an organization has: its id, the organization's, and when it was made.
type owned struct{ mixin.Schema }

// Fields of the mixin.
func (owned) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64).Immutable(),
		field.String("organization_id").MaxLen(64).Immutable(),
		field.Time("created_at").Immutable(),
	}
}
