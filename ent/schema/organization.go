package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Organization is a tenant: everything else belongs to exactly one.
type Organization struct{ ent.Schema }

// Annotations name the table.
func (Organization) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "organizations"}}
}

// Fields of an organization.
func (Organization) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(64).Immutable(),
		field.String("name"),
		field.String("parent_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.Bool("versions_need_approval").Default(false).Comment("every new version of its scripts is a draft, whoever writes it"),
		field.Int64("change_head").Default(0).Comment("offset of the newest row of the change log; counted up under this row's lock"),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of organizations.
func (Organization) Indexes() []ent.Index {
	return []ent.Index{index.Fields("parent_id")}
}
