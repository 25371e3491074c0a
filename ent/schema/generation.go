package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Generation is one runGenerationStart: asked for at any server, done by the run's owner.
type Generation struct{ ent.Schema }

// Annotations name the table.
func (Generation) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "generations"}}
}

// Mixin brings id, organization_id and created_at.
func (Generation) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a generation.
func (Generation) Fields() []ent.Field {
	return []ent.Field{
		field.String("run_id").MaxLen(64).Immutable(),
		field.String("status").MaxLen(16).Comment("QUEUED, STARTED or REFUSED"),
		field.String("reason").MaxLen(32).Default("").Comment("why it was refused"),
		field.Int("number").Default(0).Comment("0 until it was started"),
		field.Strings("materialised").Comment("paths below the agent's home that were written"),
		field.Strings("removed").Comment("paths below the agent's home that were removed"),
		field.Time("ended_at").Optional().Nillable().Comment("when it was started or refused"),
	}
}

// Edges of a generation.
func (Generation) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("run", Run.Type).Field("run_id").Unique().Required().Immutable(),
	}
}

// Indexes of generations. The one on the run serves the owner's look, which looks over all organizations.
func (Generation) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "id"),
		index.Fields("run_id", "status"),
	}
}
