package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Script is a name under which versions are kept. What the latest version says (description, parameters) is read from it.
type Script struct{ ent.Schema }

// Annotations name the table.
func (Script) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "scripts"}}
}

// Mixin brings id, organization_id and created_at.
func (Script) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a script.
func (Script) Fields() []ent.Field {
	return []ent.Field{
		field.String("agent_id").MaxLen(64).Immutable(),
		field.String("name").MaxLen(63).Immutable(),
		field.String("latest_version_id").MaxLen(64).Comment("the newest version; written in the transaction that writes the version"),
		field.Int("latest_number").Comment("its number: the next one is one more"),
		field.Time("updated_at"),
		field.Time("deleted_at").Optional().Nillable(),
	}
}

// Edges of a script.
func (Script) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("agent", Agent.Type).Field("agent_id").Unique().Required().Immutable(),
	}
}

// Indexes of scripts. An agent has a name once among the scripts that are not deleted (S1-unique).
func (Script) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "agent_id", "name").Unique().StorageKey("scripts_live_name").Annotations(entsql.IndexWhere("deleted_at IS NULL")),
		index.Fields("organization_id", "agent_id", "id"),
	}
}
