package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// File is an uploaded file; its bytes are kept by their SHA-256 (Content).
type File struct{ ent.Schema }

// Annotations name the table.
func (File) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "files"}}
}

// Mixin brings id, organization_id and created_at.
func (File) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a file. The row goes when it is deleted.
func (File) Fields() []ent.Field {
	return []ent.Field{
		field.String("key_id").MaxLen(64).Immutable(),
		field.Text("filename").Immutable(),
		field.String("content_type").MaxLen(255).Immutable(),
		field.String("sha256").MaxLen(64).Immutable(),
		field.Int64("size").NonNegative().Immutable(),
	}
}

// Edges of a file.
func (File) Edges() []ent.Edge {
	return []ent.Edge{edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable()}
}

// Indexes of files. The one on the hash serves the collector of contents, which looks over all organizations.
func (File) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "id"), index.Fields("sha256")}
}

// Content is bytes that are kept, by their SHA-256. It belongs to no organization: what refers to it does (File, VersionFile, Attachment,
// Artifact). One that nothing refers to is collected when it was not touched for a while.
type Content struct{ ent.Schema }

// Annotations name the table.
func (Content) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "contents"}}
}

// Fields of a content.
func (Content) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64).Immutable().Comment("SHA-256 in lower-case hex"),
		field.Int64("size").NonNegative().Immutable(),
		field.Time("touched_at").Comment("when somebody kept the same bytes last, or began to refer to them"),
	}
}

// Indexes of contents.
func (Content) Indexes() []ent.Index { return []ent.Index{index.Fields("touched_at")} }
