package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Artifact is a file that a call wrote into its folder of outputs and that is kept (S2-art).
type Artifact struct{ ent.Schema }

// Annotations name the table.
func (Artifact) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "artifacts"}}
}

// Mixin brings id, organization_id and created_at.
func (Artifact) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of an artifact.
func (Artifact) Fields() []ent.Field {
	return []ent.Field{
		field.String("call_id").MaxLen(64).Immutable(),
		field.Int("position").NonNegative().Immutable(),
		field.Bytes("name").Immutable().Comment("as the program named it: any bytes but NUL and /"),
		field.String("content_type").MaxLen(255).Immutable(),
		field.String("sha256").MaxLen(64).Immutable(),
		field.Int64("size").NonNegative().Immutable(),
	}
}

// Edges of an artifact.
func (Artifact) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("call", Call.Type).Field("call_id").Unique().Required().Immutable(),
	}
}

// Indexes of artifacts. The one on the hash serves the collector of contents, which looks over all organizations.
func (Artifact) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "id"), index.Fields("organization_id", "call_id", "position").Unique(), index.Fields("sha256"),
	}
}
