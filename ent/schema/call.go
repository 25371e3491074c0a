package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Call is one call of a tool: accepted, queued, run, ended. A refused one is a row, too.
type Call struct{ ent.Schema }

// Annotations name the table.
func (Call) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "calls"}}
}

// Mixin brings id, organization_id and created_at (queuedAt in the API).
func (Call) Mixin() []ent.Mixin { return []ent.Mixin{owned{}} }

// Fields of a call.
func (Call) Fields() []ent.Field {
	return []ent.Field{
		field.String("run_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("agent_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("key_id").MaxLen(64).Immutable(),
		field.String("tool").MaxLen(255).Immutable(),
		field.String("script_id").MaxLen(64).Optional().Nillable().Immutable(),
		field.String("version_id").MaxLen(64).Optional().Nillable().Immutable().Comment("the version that the call runs"),
		field.Bytes("arguments").Immutable().Comment("as they were sent"),
		field.Bytes("input").Optional().Nillable().Immutable().Comment("the JSON object that the script reads"),
		field.Bool("trial").Default(false).Immutable().Comment("of a draft: only keys with MANAGEMENT see it (S2-draft)"),
		field.Int("timeout_seconds").Immutable().Comment("min of the version's, the key's and the deployment's (S2-mintime)"),
		field.String("status").MaxLen(16),
		field.String("error_code").MaxLen(32).Optional().Nillable(),
		field.String("cancel").MaxLen(32).Default("").Comment("CANCELLED or SCRIPT_DELETED once the call is to stop; the owner watches it"),
		field.Bytes("text").Comment("what the model reads"),
		field.Int("exit_code").Optional().Nillable(),
		field.String("signal").MaxLen(16).Optional().Nillable(),
		field.Bytes("stdout").Comment("its cut block, as bytes: it may hold NULs"),
		field.Bytes("stderr"),
		field.Bool("truncated").Default(false),
		field.Bytes("left").Optional().Nillable().Comment("names in its folder of outputs that were not kept, as JSON; null: none"),
		field.Int64("stdout_bytes").Default(0),
		field.String("stdout_sha256").MaxLen(64).Optional().Nillable(),
		field.Int64("stderr_bytes").Default(0),
		field.String("stderr_sha256").MaxLen(64).Optional().Nillable(),
		field.Int64("dropped_bytes").Default(0),
		field.Int64("output_chunks").Default(0).Comment("how many chunks the kept output has"),
		field.String("output_blob").MaxLen(255).Optional().Nillable().Comment("where the kept output is once the call has ended"),
		field.Time("started_at").Optional().Nillable(),
		field.Time("finished_at").Optional().Nillable(),
		field.Int64("duration_ms").Optional().Nillable(),
		field.Int64("cpu_ms").Optional().Nillable(),
		field.Int64("peak_memory_bytes").Optional().Nillable(),
		field.String("end_reason").MaxLen(16).Optional().Nillable().Comment("what ended it; null until the end, and where it was refused"),
		field.Int("processes_killed").Optional().Nillable().Comment("that its program left behind"),
		field.Bytes("isolation").Optional().Nillable().Comment("how its program was kept apart, as JSON; null where it was not started, or that is not known"),
	}
}

// Edges of a call.
func (Call) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("organization", Organization.Type).Field("organization_id").Unique().Required().Immutable(),
		edge.To("run", Run.Type).Field("run_id").Unique().Immutable(),
	}
}

// Indexes of calls. The one on the status serves the dispatcher and the sweeper, which look over all organizations.
func (Call) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("organization_id", "id"),
		index.Fields("organization_id", "run_id", "id"),
		index.Fields("organization_id", "script_id", "status"),
		index.Fields("status", "run_id", "id"),
	}
}
