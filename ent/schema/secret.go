package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Secret is a value that an agent's scripts find in their environment. The value is sealed: the database never has it in the clear. The row
// goes with the secret.
type Secret struct{ ent.Schema }

// Annotations name the table.
func (Secret) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "secrets"}}
}

// Fields of a secret.
func (Secret) Fields() []ent.Field {
	return []ent.Field{
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("agent_id").MaxLen(64).Immutable(),
		field.String("name").MaxLen(255).Immutable(),
		field.String("description"),
		field.Bytes("sealed").Comment("nonce, encrypted value and tag of AES-256-GCM, for this organization, agent and name"),
		field.String("key_id").MaxLen(16).Comment("which key sealed it; says nothing about the key"),
		field.Time("created_at").Immutable(),
		field.Time("updated_at"),
	}
}

// Edges of a secret.
func (Secret) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("agent", Agent.Type).Field("agent_id").Unique().Required().Immutable(),
	}
}

// Indexes of secrets: a name is an agent's once. The one on the key serves the question whether a server has the keys of all.
func (Secret) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "agent_id", "name").Unique(),
		index.Fields("key_id"),
	}
}
