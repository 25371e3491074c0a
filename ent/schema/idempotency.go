package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Idempotency remembers what a mutation with an idempotencyKey answered, for 24 hours.
type Idempotency struct{ ent.Schema }

// Annotations name the table.
func (Idempotency) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "idempotencies"}}
}

// Fields of a remembered answer.
func (Idempotency) Fields() []ent.Field {
	return []ent.Field{
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("key_id").MaxLen(64).Immutable(),
		field.String("mutation").MaxLen(64).Immutable(),
		field.String("idempotency_key").MaxLen(1024).Immutable(),
		field.Bytes("input_sha256").MaxLen(32).Immutable(),
		field.Strings("answer").Comment("the ids that the mutation answered"),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of remembered answers: one for a key, mutation and idempotencyKey.
func (Idempotency) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "key_id", "mutation", "idempotency_key").Unique().StorageKey("idempotencies_once"),
		index.Fields("created_at"),
	}
}
