package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Script is a name under which versions are kept. What the latest version says (description, parameters) is read from it.
type Script struct{ ent.Schema }

// Annotations name the table.
func (Script) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "scripts"}}
}

// Mixin brings id, organization_id and created_at.
func (Script) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a script.
func (Script) Fields() []ent.Field {
	return []ent.Field{
		field.String("agent_id").MaxLen(64).Optional().Nillable().Immutable().Comment("null: the organization's own, a package of files"),
		field.String("name").MaxLen(63).Immutable(),
		field.String("latest_version_id").MaxLen(64).
			Comment("the newest published version, the newest draft where none is; written in the transaction that writes or publishes it"),
		field.Int("latest_number").Comment("the highest number that a version has, drafts among them: the next one is one more"),
		field.Bool("published").Default(true).Comment("a version is published; where none is, only keys with MANAGEMENT see the script"),
		field.Bytes("metadata").Optional().Nillable().Comment("a JSON value; null: {}"),
		field.Time("updated_at").Comment("when its latest version was published or its labels changed: a draft leaves it as it is"),
		field.Time("deleted_at").Optional().Nillable(),
	}
}

// Edges of a script.
func (Script) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("agent", Agent.Type).Field("agent_id").Unique().Immutable(),
	}
}

// Indexes of scripts. An agent has a name once among the scripts that are not deleted (S1-unique). The organization has it once among those
// that are published, too: a script that has only drafts takes no name.
func (Script) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "agent_id", "name").Unique().StorageKey("scripts_live_name").Annotations(entsql.IndexWhere("deleted_at IS NULL")),
		index.Fields("organization_id", "name").Unique().StorageKey("scripts_live_package").
			Annotations(entsql.IndexWhere("deleted_at IS NULL AND agent_id IS NULL AND published")),
		index.Fields("organization_id", "agent_id", "id"),
	}
}

// ScriptLabel is a label of an organization's script. The rows are replaced together (S2-labels).
type ScriptLabel struct{ ent.Schema }

// Annotations name the table.
func (ScriptLabel) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "script_labels"}}
}

// Fields of a label.
func (ScriptLabel) Fields() []ent.Field {
	return []ent.Field{
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("script_id").MaxLen(64).Immutable(),
		field.Int("position").NonNegative().Immutable(),
		field.String("name").Immutable(),
		field.String("value").Immutable(),
	}
}

// Edges of a label.
func (ScriptLabel) Edges() []ent.Edge {
	return []ent.Edge{edge.To("script", Script.Type).Field("script_id").Unique().Required().Immutable()}
}

// Indexes of labels: a name is at a script once.
func (ScriptLabel) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "script_id", "name").Unique(), index.Fields("organization_id", "name", "value")}
}
