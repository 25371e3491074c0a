package call

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/jsonschema"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// nativeUse is one use of a tool of the system's own that needs no computer, inside the transaction that writes its call. The agent is locked.
type nativeUse struct {
	tx    *database.Tx
	agent *agent.Agent
	runID string
	// scripts is where the catalog is read and written.
	scripts *script.Service
	// input holds the arguments, which fit the tool's schema.
	input json.RawMessage
	// scriptID and versionID say which script was written or read, where there was one and still is.
	scriptID, versionID *string
}

// nativeTools are the system's own tools that need no computer. Each answers what the model reads; a user error is a refusal, in words.
var nativeTools = map[string]func(*nativeUse, context.Context) (string, error){
	tool.ScriptCreate: (*nativeUse).create,
	tool.ScriptList:   (*nativeUse).list,
	tool.ScriptRead:   (*nativeUse).read,
	tool.ScriptDelete: (*nativeUse).delete,
}

// servedHere says whether the tool needs no computer.
func servedHere(name string) bool { return nativeTools[name] != nil }

// nativeSchemas are the schemas of the system's own tools, as they are offered.
var nativeSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for _, t := range tool.Native() {
		s, err := jsonschema.Compile(t.Parameters)
		if err != nil {
			panic(err) // it is a constant
		}
		all[t.Name] = s
	}
	return all
})

// perform does what a call of such a tool asks for, with the call as author of what it writes (S1-author), and answers the call with its end. What it
// does and the call are written by one transaction: either both are there or none.
func (s *Service) perform(ctx context.Context, tx *database.Tx, asked *Call, input json.RawMessage) (*Call, error) {
	c := asked.copy()
	a, err := s.scripts.LockAgent(ctx, tx, c.OrganizationID, *c.AgentID)
	if gone, other := fault.Refusals(err); other != nil {
		return nil, other
	} else if len(gone) > 0 {
		return nil, errStale // with the agent its runs are finished
	}
	u := &nativeUse{tx: tx, agent: a, runID: *c.RunID, scripts: s.scripts, input: input}
	text, err := nativeTools[c.Tool](u, change.WithAuthor(ctx, change.Author{CallID: c.ID}))
	refused, err := fault.Refusals(err)
	if err != nil {
		return nil, err
	}
	c.Status, c.Text, c.ScriptID, c.VersionID = Succeeded, text, u.scriptID, u.versionID
	if len(refused) > 0 {
		c.Status, c.Text = Failed, inWords(refused)
	}
	at := s.now()
	c.FinishedAt = &at
	return c, nil
}

// inWords is what the model reads of refusals: a line each, which names the argument at fault as the model sent it.
func inWords(refused []fault.UserError) string {
	lines := make([]string, len(refused))
	for i, r := range refused {
		d := fault.DetailOf(r)
		path := strings.Join(d.Path, ".")
		lines[i] = strings.Replace(d.Message, path, strings.TrimPrefix(path, "input."), 1)
	}
	return strings.Join(lines, "\n")
}

// create is script_create: agentScriptSave by the model.
func (u *nativeUse) create(ctx context.Context) (string, error) {
	var in struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Source      string          `json:"source"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(u.input, &in); err != nil {
		return "", err
	}
	write := script.SaveInput{Agent: u.agent.ID, Name: in.Name, Description: in.Description, Source: in.Source, Parameters: in.Parameters}
	before, err := u.scripts.LiveByName(ctx, u.tx, u.agent.OrganizationID, u.agent.ID, in.Name)
	if err != nil {
		return "", err
	}
	if before != nil { // what the tool does not know of stays as a person set it
		write.FreshInterpreter = &before.Version.FreshInterpreter
	}
	saved, err := u.scripts.SaveInTx(ctx, u.tx, write)
	if err != nil {
		return "", err
	}
	u.scriptID, u.versionID = &saved.Script.ID, &saved.Version.ID
	snapshot, err := u.snapshot(ctx, in.Name)
	if err != nil {
		return "", err
	}
	return createdText(saved, snapshot[in.Name]), nil
}

// list is script_list: the live catalog (S1-listlive).
func (u *nativeUse) list(ctx context.Context) (string, error) {
	entries, err := u.scripts.Live(ctx, u.tx, u.agent.OrganizationID, u.agent.ID)
	if err != nil {
		return "", err
	}
	snapshot, err := u.snapshot(ctx, "")
	if err != nil {
		return "", err
	}
	return listText(entries, u.agent.MaxScripts, snapshot), nil
}

// read is script_read: one script of the live catalog (S1-listlive).
func (u *nativeUse) read(ctx context.Context) (string, error) {
	var in struct {
		Name   string  `json:"name"`
		Offset float64 `json:"offset"` // an integer may be written 1.0
	}
	if err := json.Unmarshal(u.input, &in); err != nil {
		return "", err
	}
	e, err := u.scripts.LiveByName(ctx, u.tx, u.agent.OrganizationID, u.agent.ID, in.Name)
	if err != nil {
		return "", err
	}
	if e == nil {
		return "", errNoScript(in.Name)
	}
	offset := int(in.Offset)
	if offset > 0 && offset >= len(e.Version.Source) {
		return "", fault.Plain(fault.Invalid, "input.offset", "input.offset is behind the end of the source, which has %d bytes", len(e.Version.Source))
	}
	u.scriptID, u.versionID = &e.Script.ID, &e.Version.ID
	snapshot, err := u.snapshot(ctx, in.Name)
	if err != nil {
		return "", err
	}
	return readText(e, offset, snapshot[in.Name]), nil
}

// delete is script_delete: agentScriptDelete by the model.
func (u *nativeUse) delete(ctx context.Context) (string, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(u.input, &in); err != nil {
		return "", err
	}
	err := u.scripts.DeleteInTx(ctx, u.tx, script.DeleteInput{Agent: u.agent.ID, Name: in.Name})
	if refused, other := fault.Refusals(err); other != nil {
		return "", other
	} else if len(refused) > 0 {
		return "", errNoScript(in.Name)
	}
	return deletedText(in.Name), nil
}

// snapshot answers, by name, which versions the run goes on with; with a name, only of that.
func (u *nativeUse) snapshot(ctx context.Context, name string) (map[string]int, error) {
	return snapshotNumbers(ctx, u.tx.SQL(), u.agent.OrganizationID, u.runID, name)
}

// errNoScript says that the agent has no script of the name. It repeats only what can be a name.
func errNoScript(name string) error {
	if !script.ValidName(name) {
		return fault.Plain(fault.NotFound, "input.name", "There is no script of this name.")
	}
	return fault.Plain(fault.NotFound, "input.name", "There is no script named %s.", name)
}
