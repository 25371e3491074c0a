package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Approval is somebody's decision about a version. It stays when the version goes.
type Approval struct{ ent.Schema }

// Annotations name the table.
func (Approval) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "approvals"}}
}

// Mixin brings id, organization_id and created_at.
func (Approval) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of an approval. Nothing of it is ever changed.
func (Approval) Fields() []ent.Field {
	return []ent.Field{
		field.String("version_id").MaxLen(64).Immutable().Comment("a plain id: the approval stays when the version goes"),
		field.String("decision").MaxLen(16).Immutable(),
		field.Text("comment").Immutable(),
		field.String("key_id").MaxLen(64).Immutable(),
	}
}

// Edges of an approval.
func (Approval) Edges() []ent.Edge {
	return []ent.Edge{edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable()}
}

// Indexes of approvals.
func (Approval) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "version_id", "id")}
}
