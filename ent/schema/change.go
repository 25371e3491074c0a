package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Change is one row of an organization's change log. Its offset has no gaps: it is counted under the organization's row lock, in
// the transaction of what it tells.
type Change struct{ ent.Schema }

// Annotations name the table.
func (Change) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "changes"}}
}

// Mixin brings id, organization_id and created_at.
func (Change) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a change.
func (Change) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("offset").Immutable(),
		field.String("action").MaxLen(16).Immutable(),
		field.String("agent_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("name").MaxLen(63).Optional().Nillable().Immutable(),
		field.String("script_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("version_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("author_key_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("author_call_id").MaxLen(64).Optional().Nillable().Immutable(),
	}
}

// Edges of a change. What it tells of is named by plain ids: the log stays when things go.
func (Change) Edges() []ent.Edge {
	return []ent.Edge{edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable()}
}

// Indexes of changes.
func (Change) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "offset").Unique(),
		index.Fields("organization_id", "agent_id", "offset"),
	}
}
