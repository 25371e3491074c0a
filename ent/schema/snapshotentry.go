package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// SnapshotEntry is one script in a snapshot. It points at the version, which never changes, instead of copying it; it goes when
// the script is deleted (S1-delnow).
type SnapshotEntry struct{ ent.Schema }

// Annotations name the table.
func (SnapshotEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "snapshot_entries"}}
}

// Fields of an entry.
func (SnapshotEntry) Fields() []ent.Field {
	return []ent.Field{
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("snapshot_id").MaxLen(64).Immutable(),
		field.String("script_id").MaxLen(64).Immutable(),
		field.String("version_id").MaxLen(64).Immutable(),
		field.String("name").MaxLen(63).Immutable(),
	}
}

// Edges of an entry.
func (SnapshotEntry) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("snapshot", Snapshot.Type).Field("snapshot_id").Unique().Required().Immutable(),
		edge.To("script", Script.Type).Field("script_id").Unique().Required().Immutable(),
		edge.To("version", Version.Type).Field("version_id").Unique().Required().Immutable(),
	}
}

// Indexes of entries: a name is in a snapshot once.
func (SnapshotEntry) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "snapshot_id", "name").Unique(),
		index.Fields("organization_id", "script_id"),
	}
}
