package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Agent keeps scripts and has runs.
type Agent struct{ ent.Schema }

// Annotations name the table and hold what the database checks by itself.
func (Agent) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "agents", Checks: map[string]string{"agents_max_scripts_positive": "max_scripts > 0"}}}
}

// Mixin brings id, organization_id and created_at.
func (Agent) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of an agent.
func (Agent) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		field.Bool("scripting").Default(true),
		field.Bool("keeps_home").Default(false),
		field.Int("max_scripts").Default(10),
		field.Strings("connected_tools"),
		field.Strings("tools").Comment("names and patterns of the organization's scripts that its runs are offered"),
		field.Time("updated_at"),
		field.Time("deleted_at").Optional().Nillable(),
	}
}

// Edges of an agent.
func (Agent) Edges() []ent.Edge {
	return []ent.Edge{edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable()}
}

// Indexes of agents.
func (Agent) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "id")}
}
