package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Home is what an agent's last computer left of its home. Its id is the agent's: each agent has one at most.
type Home struct{ ent.Schema }

// Annotations name the table.
func (Home) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "homes"}}
}

// Fields of a home.
func (Home) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("agent_id").MaxLen(64).Immutable(),
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("run_id").MaxLen(64).Comment("the run whose computer it was"),
		field.String("blob").MaxLen(255).Comment("the archive's name"),
		field.Int("entries").Comment("files, folders and links in it"),
		field.Int64("bytes").Comment("of its files"),
		field.Int("left_out").Comment("what passed the bounds, or cannot be kept"),
		field.Time("kept_at"),
	}
}

// Edges of a home.
func (Home) Edges() []ent.Edge {
	return []ent.Edge{edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable()}
}

// Indexes of homes.
func (Home) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "id")}
}
