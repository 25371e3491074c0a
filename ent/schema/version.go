package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Version is one immutable version of a script.
type Version struct{ ent.Schema }

// Annotations name the table and hold what the database checks by itself.
func (Version) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "versions", Checks: map[string]string{"versions_number_positive": "number > 0"}}}
}

// Mixin brings id, organization_id and created_at.
func (Version) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a version. Nothing of it is ever changed.
func (Version) Fields() []ent.Field {
	return []ent.Field{
		field.String("script_id").MaxLen(64).Immutable(),
		field.Int("number").Immutable(),
		field.Text("description").Immutable(),
		field.Bytes("parameters").Optional().Nillable().Immutable().Comment("the JSON Schema as it was sent; null: no tool of its own"),
		field.Text("source").Immutable(),
		field.String("source_hash").MaxLen(64).Immutable(),
		field.Int("timeout_seconds").Immutable(),
		field.Bool("fresh_interpreter").Default(false).Immutable().Comment("each call gets an interpreter started for it alone"),
		field.String("author_key_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("author_call_id").MaxLen(64).Optional().Nillable().Immutable().Comment("the call of a run that wrote it, where a run did"),
	}
}

// Edges of a version.
func (Version) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("script", Script.Type).Field("script_id").Unique().Required().Immutable(),
	}
}

// Indexes of versions. Numbers are contiguous and never reused.
func (Version) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "script_id", "number").Unique()}
}
