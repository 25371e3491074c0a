package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Key is an API key. Its secret is kept as a SHA-256 only.
type Key struct{ ent.Schema }

// Annotations name the table.
func (Key) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "keys"}}
}

// Mixin brings id, organization_id and created_at.
func (Key) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a key.
func (Key) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		field.String("prefix").Comment("the secret's first characters, to recognise it by"),
		field.Bytes("secret_sha256").MaxLen(32).Immutable(),
		field.Strings("capabilities"),
		field.Bytes("tool_rules").Optional().Nillable().Immutable().Comment("rules over the names of tools, in order, as JSON; null: none"),
		field.Int("exec_timeout_seconds").Optional().Nillable(),
		field.Bool("operator").Default(false).Immutable(),
		field.Time("last_used_at").Optional().Nillable(),
		field.Time("revoked_at").Optional().Nillable(),
	}
}

// Edges of a key.
func (Key) Edges() []ent.Edge {
	return []ent.Edge{edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable()}
}

// Indexes of keys. The look-up by secret cannot start with the organization: it is what tells which one it is.
func (Key) Indexes() []ent.Index {
	return []ent.Index{index.Fields("secret_sha256").Unique(), index.Fields("organization_id", "id")}
}
