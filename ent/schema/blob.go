package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Blob is bytes under a name, for servers that keep blobs in the database. It belongs to no organization: what refers to it does.
type Blob struct{ ent.Schema }

// Annotations name the table.
func (Blob) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "blobs"}}
}

// Fields of a blob.
func (Blob) Fields() []ent.Field {
	return []ent.Field{
		field.Bytes("name").MaxLen(1024).Immutable().Comment("UTF-8; bytes, so that its order does not hang on the database's locale"),
		field.String("etag").MaxLen(64).Comment("another one each time that the blob is written"),
		field.Int64("size").NonNegative(),
		field.Text("attributes").MaxLen(65536).Comment("content type and the like, as JSON"),
		field.Time("created_at").Immutable(),
		field.Time("modified_at"),
	}
}

// Indexes of blobs: a name is there once.
func (Blob) Indexes() []ent.Index {
	return []ent.Index{index.Fields("name").Unique()}
}

// BlobPiece is a part of a blob's bytes. All pieces but the last are of one size; they are numbered from 0.
type BlobPiece struct{ ent.Schema }

// Annotations name the table.
func (BlobPiece) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "blob_pieces"}}
}

// Fields of a piece.
func (BlobPiece) Fields() []ent.Field {
	return []ent.Field{
		field.Int("blob_id").Immutable(),
		field.Int("number").NonNegative().Immutable(),
		field.Bytes("content").Immutable(),
	}
}

// Edges of a piece: it goes with its blob.
func (BlobPiece) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("blob", Blob.Type).Field("blob_id").Unique().Required().Immutable().Annotations(entsql.OnDelete(entsql.Cascade)),
	}
}

// Indexes of pieces: a number is in a blob once.
func (BlobPiece) Indexes() []ent.Index {
	return []ent.Index{index.Fields("blob_id", "number").Unique()}
}
