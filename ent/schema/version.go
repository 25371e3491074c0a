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

// Fields of a version. Nothing of it is ever changed but whether it is published, once.
func (Version) Fields() []ent.Field {
	return []ent.Field{
		field.String("script_id").MaxLen(64).Immutable(),
		field.Int("number").Immutable(),
		field.Text("description").Immutable(),
		field.Bytes("parameters").Optional().Nillable().Immutable().Comment("the JSON Schema as it was sent; null: no tool of its own"),
		field.Bytes("entrypoint").Optional().Nillable().Immutable().Comment("a JSON array of strings; null: an agent's script, python3 and its file"),
		field.Text("source").Immutable().Comment("an agent's script; of a package it is empty: its files are rows of their own"),
		field.String("source_hash").MaxLen(64).Immutable(),
		field.Int("timeout_seconds").Immutable(),
		field.Bool("background").Default(false).Immutable(),
		field.Bytes("labels").Optional().Nillable().Immutable().Comment("a draft's: they become the script's when it is published; a JSON array; null: the script's are kept"),
		field.Bytes("metadata").Optional().Nillable().Immutable().Comment("the same of its metadata"),
		field.Time("published_at").Optional().Nillable().Comment("null: a draft"),
		field.Time("rejected_at").Optional().Nillable().Comment("of a draft that was rejected: it is not published any more"),
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

// VersionFile is one file of a package's version; its bytes are kept by their SHA-256 (Content).
type VersionFile struct{ ent.Schema }

// Annotations name the table.
func (VersionFile) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "version_files"}}
}

// Fields of a file, none of which is ever changed.
func (VersionFile) Fields() []ent.Field {
	return []ent.Field{
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("version_id").MaxLen(64).Immutable(),
		field.String("path").MaxLen(255 * 4).Immutable(),
		field.Bool("entry").Default(false).Immutable().Comment("it is the file that the entrypoint names"),
		field.String("sha256").MaxLen(64).Immutable(),
		field.Int64("size").NonNegative().Immutable(),
	}
}

// Edges of a file.
func (VersionFile) Edges() []ent.Edge {
	return []ent.Edge{edge.To("version", Version.Type).Field("version_id").Unique().Required().Immutable()}
}

// Indexes of files: a path is in a version once. The other serves the collector of contents, which looks over all organizations.
func (VersionFile) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "version_id", "path").Unique(), index.Fields("sha256")}
}
