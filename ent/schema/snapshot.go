package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Snapshot is what a run took of its agent's scripts when it was created (S1-snap).
type Snapshot struct{ ent.Schema }

// Annotations name the table.
func (Snapshot) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "snapshots"}}
}

// Mixin brings id, organization_id and created_at.
func (Snapshot) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a snapshot.
func (Snapshot) Fields() []ent.Field {
	return []ent.Field{field.String("run_id").MaxLen(64).Immutable()}
}

// Edges of a snapshot.
func (Snapshot) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("run", Run.Type).Field("run_id").Unique().Required().Immutable(),
	}
}

// Indexes of snapshots: a run has one.
func (Snapshot) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "run_id").Unique()}
}
