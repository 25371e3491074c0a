package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Attachment is a file that a run was given: a copy, which stays when the upload goes.
type Attachment struct{ ent.Schema }

// Annotations name the table.
func (Attachment) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "attachments"}}
}

// Fields of an attachment.
func (Attachment) Fields() []ent.Field {
	return []ent.Field{
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("run_id").MaxLen(64).Immutable(),
		field.Int("position").NonNegative().Immutable(),
		field.String("file_id").MaxLen(64).Immutable(),
		field.Text("filename").Immutable(),
		field.String("content_type").MaxLen(255).Immutable(),
		field.String("sha256").MaxLen(64).Immutable(),
		field.Int64("size").NonNegative().Immutable(),
		field.Time("created_at").Immutable().Comment("when the file was uploaded"),
	}
}

// Edges of an attachment.
func (Attachment) Edges() []ent.Edge {
	return []ent.Edge{edge.To("run", Run.Type).Field("run_id").Unique().Required().Immutable()}
}

// Indexes of attachments. The one on the hash serves the collector of contents, which looks over all organizations.
func (Attachment) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "run_id", "position").Unique(), index.Fields("organization_id", "file_id"), index.Fields("sha256"),
	}
}
