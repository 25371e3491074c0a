package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Run is one run of an agent, or one without an agent.
type Run struct{ ent.Schema }

// Annotations name the table.
func (Run) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "runs"}}
}

// Mixin brings id, organization_id and created_at.
func (Run) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a run. owner and its companions are the lease of the server that holds the run's computer.
func (Run) Fields() []ent.Field {
	return []ent.Field{
		field.String("agent_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("key_id").MaxLen(64).Immutable(),
		field.String("status").MaxLen(16),
		field.Int("generation").Default(0),
		field.Bool("direct").Default(false).Immutable().Comment("made for one call that asked for no run: the API does not show it"),
		field.Bool("scripting").Default(false).Immutable().Comment("script tools are offered: the agent's switch when the run was created"),
		field.Bytes("environment").Immutable().Comment("a JSON object of strings"),
		field.Bytes("tools").Immutable().Comment("the tools offered in this run, as JSON, fixed when it was created"),
		field.String("owner").MaxLen(64).Default("").Comment("the server that holds the run's computer; empty: none"),
		field.Int64("owner_token").Default(0).Comment("fencing: counted up whenever the owner changes"),
		field.Time("owner_until").Optional().Nillable().Comment("when the owner's lease ends; without an owner, when the last one gave the run back"),
		field.Time("finished_at").Optional().Nillable(),
	}
}

// Edges of a run.
func (Run) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("agent", Agent.Type).Field("agent_id").Unique().Immutable(),
	}
}

// Indexes of runs. The one on the owner serves the sweeper, which looks over all organizations.
func (Run) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "id"),
		index.Fields("organization_id", "agent_id", "id"),
		index.Fields("owner", "owner_until"),
	}
}

// RunTool is a script of the organization that a run was offered, as it was resolved when the run was created (S2-resolved). It names its script and version
// without an edge: both may go.
type RunTool struct{ ent.Schema }

// Annotations name the table.
func (RunTool) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "run_tools"}}
}

// Fields of a tool of a run, none of which is ever changed.
func (RunTool) Fields() []ent.Field {
	return []ent.Field{
		field.String("organization_id").MaxLen(64).Immutable(),
		field.String("run_id").MaxLen(64).Immutable(),
		field.String("name").MaxLen(64).Immutable().Comment("the tool's: script__<name>"),
		field.String("script_id").MaxLen(64).Immutable(),
		field.String("version_id").MaxLen(64).Immutable(),
	}
}

// Edges of a tool of a run.
func (RunTool) Edges() []ent.Edge {
	return []ent.Edge{edge.To("run", Run.Type).Field("run_id").Unique().Required().Immutable()}
}

// Indexes of the tools of runs: a name is in a run once.
func (RunTool) Indexes() []ent.Index {
	return []ent.Index{index.Fields("organization_id", "run_id", "name").Unique()}
}
