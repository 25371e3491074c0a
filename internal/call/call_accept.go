package call

import (
	"context"
	"errors"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/text"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// maxToolName is the longest name of a tool that is looked for, in characters.
const maxToolName = 255

// attempts is how often a call is decided anew because its run or script changed meanwhile.
const attempts = 5

// ToolCall calls a tool in a run, or a script of the organization without one (see direct.go). User errors say that no call can be accepted; whatever else is wrong is a call that is REFUSED, with
// the sentence for the model. It needs TOOLING. It waits for the end unless told not to; who goes away meanwhile does not cancel it.
//
// In order: the shape of the input; the answer to an equal request before; the run (there, open) and the version; the key's rules (DENIED); the tool
// (UNKNOWN_TOOL); the key's right to a computer (DENIED); the arguments (INVALID_ARGUMENTS); whether there are computers
// (NOT_CONFIGURED) and room for one more call (COMPUTER_UNAVAILABLE). Then the row is written, and the run's owner told. A tool that needs
// no computer (see native.go) does its work in the transaction that writes the row; the rules about computers are not for it.
func (s *Service) ToolCall(ctx context.Context, in ToolCallInput) (*ToolCallPayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var a *accepted
	if err = in.check(); err == nil {
		a, err = s.accept(ctx, v, in)
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &ToolCallPayload{UserErrors: refused}, err
	}
	defer a.forget()
	if !a.call.Status.Ended() && !a.replayed {
		if s.host.Ours(a.owner) {
			s.host.Wake(a.ref, a.call.ID, a.call.QueuedAt)
		} else {
			s.host.TellOwner(ctx, a.owner)
		}
	}
	c := a.call
	if !c.Status.Ended() && (in.Wait == nil || *in.Wait) {
		if c, err = s.await(ctx, a); err != nil {
			return nil, err
		}
		if in.Run == nil { // its computer goes with it
			s.host.AwaitLeft(ctx, *c.RunID)
		}
	}
	return &ToolCallPayload{Call: c, UserErrors: refused}, nil
}

// check holds the rules about the input itself.
func (in ToolCallInput) check() error {
	return errors.Join(text.Short("input.name", in.Name, maxToolName), idempotency.Check(in.IdempotencyKey))
}

// accepted is a call that was accepted, or refused with a row.
type accepted struct {
	call     *Call
	input    []byte
	owner    string // of the run, when it was read
	ref      run.Ref
	replayed bool // an equal request made the call
	here     bool // it needs no computer
	direct   bool // it has a run of its own, which is written with it
	ended    <-chan *Call
	forget   func()
}

// accept decides and writes. What it decided on may change before it is written: then it decides anew.
func (s *Service) accept(ctx context.Context, v *key.Viewer, in ToolCallInput) (*accepted, error) {
	request := idempotency.Request{OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "toolCall", Key: in.IdempotencyKey, Input: in}
	for range attempts {
		a, refused := s.decide(ctx, v, in) // a user error counts only if no equal request was answered before
		if _, other := fault.Refusals(refused); other != nil {
			return nil, other
		}
		var before *accepted
		var done *Call
		err := s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			answer, replayed, err := s.once.Once(ctx, tx, request, func(ctx context.Context) (_ []string, err error) {
				if refused != nil {
					return nil, refused
				}
				if done, err = s.enter(ctx, tx, a); err != nil {
					return nil, err
				}
				return []string{done.ID}, nil
			})
			if before = nil; err == nil && replayed {
				before, err = s.replay(ctx, tx, v.Organization.ID, answer)
			}
			return err
		})
		if err == nil && before == nil {
			a.call = done
			return a, nil
		}
		if a != nil {
			a.forget()
		}
		if !errors.Is(err, errStale) {
			return before, err
		}
	}
	return nil, fault.NewProblem(fault.Unavailable, "the run changes too fast: try again")
}

// enter writes the call, done already where it needs no computer.
func (s *Service) enter(ctx context.Context, tx *database.Tx, a *accepted) (*Call, error) {
	c, input := a.call, a.input
	if a.here {
		var err error
		if c, err = s.perform(ctx, tx, c, input); err != nil {
			return nil, err
		}
		input = nil // no script reads it
	}
	if a.direct {
		if err := run.BeginDirect(ctx, tx, &run.Run{ID: *c.RunID, OrganizationID: c.OrganizationID, KeyID: c.KeyID, Status: run.Open, CreatedAt: c.QueuedAt}); err != nil {
			return nil, err
		}
	}
	written, err := insert(ctx, tx, c, input)
	if err == nil && !written {
		err = errStale
	}
	if err == nil && a.direct && c.Status.Ended() {
		err = run.FinishDirect(ctx, tx, []string{c.ID}, *c.FinishedAt)
	}
	return c, err
}

// errStale: the run was finished, or the script deleted, since they were read.
var errStale = errors.New("call: what it was decided on has changed")

// replay answers the call that an equal request made.
func (s *Service) replay(ctx context.Context, tx *database.Tx, organizationID string, answer []string) (*accepted, error) {
	calls, err := byIDs(ctx, tx.SQL(), organizationID, answer)
	if err != nil {
		return nil, err
	}
	if len(calls) != 1 {
		return nil, errors.New("call: a remembered call is gone")
	}
	return &accepted{call: calls[0], replayed: true, forget: func() {}}, nil
}

// decide reads what there is and decides: a user error, a refused call, or one that waits.
func (s *Service) decide(ctx context.Context, v *key.Viewer, in ToolCallInput) (*accepted, error) {
	args := parseArguments(in.Name, in.Arguments)
	name := args.script
	if _, isPackage := tool.PackageOf(name); !isPackage && !script.ValidName(name) { // nothing has such a name, and a database may not take it
		name = ""
	}
	t, err := s.target(ctx, v, in, name)
	if err != nil {
		return nil, err
	}
	if err := t.refuses(v, in); err != nil {
		return nil, err
	}
	now := s.now()
	runID := in.Run
	if t.direct {
		hidden := id.New(id.Run)
		runID = &hidden
	}
	c := &Call{
		ID: id.New(id.Call), OrganizationID: v.Organization.ID, RunID: runID, AgentID: t.agentID, KeyID: v.Key.ID, Tool: in.Name,
		Arguments: args.kept, Status: Queued, QueuedAt: now, Output: &OutputInfo{}, trial: t.trial,
	}
	no, err := s.refusal(ctx, v, t, name, args, c)
	if err != nil {
		return nil, err
	}
	a := &accepted{call: c, owner: t.owner, ref: c.ref(), direct: t.direct, forget: func() {}}
	if no != nil {
		c.Status, c.ErrorCode, c.Text, c.FinishedAt = Refused, &no.code, no.text, &now
		return a, nil
	}
	a.input = args.input
	if a.here = servedHere(c.Tool); a.here {
		return a, nil
	}
	ended, forget := s.waiter(c.ID)
	a.ended, a.forget = ended, func() { forget(); s.host.Forget(c.ID) }
	return a, nil
}

// target reads what the call is made in.
func (s *Service) target(ctx context.Context, v *key.Viewer, in ToolCallInput, name string) (*target, error) {
	if in.Run == nil {
		return s.directTarget(ctx, v, in)
	}
	if !id.Is(id.Run, *in.Run) { // a database may not take it
		return nil, nil
	}
	_, isPackage := tool.PackageOf(in.Name)
	return readTarget(ctx, s.db, v.Organization.ID, *in.Run, name, isPackage)
}

// ref is the call's run, and whose it is.
func (c *Call) ref() run.Ref {
	r := run.Ref{OrganizationID: c.OrganizationID, RunID: *c.RunID}
	if c.AgentID != nil {
		r.AgentID = *c.AgentID
	}
	return r
}

// refuses answers the user errors: no call can be accepted.
func (t *target) refuses(v *key.Viewer, in ToolCallInput) error {
	switch {
	case t == nil:
		return fault.Plain(fault.NotFound, "input.run", "input.run: there is no such run")
	case t.status != "OPEN":
		return fault.Plain(fault.BadState, "input.run", "input.run: the run is finished")
	case in.Version == nil || !v.PermitsTool(in.Name) || !t.offers(in.Name):
		return nil // a tool that is denied or unknown is the call's affair
	case tool.IsNative(in.Name):
		return fault.Plain(fault.NotFound, "input.version", "input.version: %s has no versions", in.Name)
	case *in.Version != *t.number:
		return fault.Plain(fault.NotFound, "input.version", "input.version: this run has version %d of the tool", *t.number)
	}
	return nil
}

// offers says whether the run has the tool: a script of the organization (S2-resolved), one of the system's own (S1-five), or a script of its snapshot with parameters (S1-owntool). One that was created
// since has none of its own in this run (S1-newlive), and one that was deleted has none any more (S1-delnow).
func (t *target) offers(name string) bool {
	if !key.PermitTool(t.rules, name) {
		return false
	}
	if _, isPackage := tool.PackageOf(name); isPackage {
		return t.versionID != nil
	}
	return t.scripting && (tool.IsNative(name) || (t.versionID != nil && t.parameters != nil))
}

// refusal answers why the call is refused, nil where it is not, and notes in the call what it will run.
func (s *Service) refusal(ctx context.Context, v *key.Viewer, t *target, name string, args arguments, c *Call) (*refusal, error) {
	switch {
	case !v.PermitsTool(c.Tool): // S2-policy
		return refuse(Denied), nil
	case !t.offers(c.Tool):
		return refuse(UnknownTool), nil
	}
	if servedHere(c.Tool) {
		return args.fault, nil
	}
	found := args.fault != nil && name == "" // which script it would have been, nobody knows
	if name != "" {
		var err error
		if found, err = s.resolve(ctx, t, name, c); err != nil {
			return nil, err
		}
	}
	switch {
	case !found:
		return refuse(UnknownTool), nil
	case !v.Has(key.Computer):
		return refuse(Denied), nil
	case args.fault != nil:
		return args.fault, nil
	}
	if t.parameters != nil { // whichever of the two ways it is called
		if no, err := s.schemas.check(*t.versionID, t.parameters, args.input); no != nil || err != nil {
			return no, err
		}
	}
	c.TimeoutSeconds = s.timeout(v, c.TimeoutSeconds)
	return s.room(ctx, t, c)
}

// resolve notes which script and version the call runs: the snapshot's, else, for a name absent from it, the live one's (S1-snaprun,
// S1-newlive). It answers false where there is none.
func (s *Service) resolve(ctx context.Context, t *target, name string, c *Call) (bool, error) {
	if t.versionID == nil && t.agentID != nil {
		live, err := s.scripts.LiveByName(ctx, nil, c.OrganizationID, *t.agentID, name)
		if err != nil || live == nil {
			return false, err
		}
		t.scriptID, t.versionID, t.timeout, t.parameters = &live.Script.ID, &live.Version.ID, &live.Version.TimeoutSeconds, live.Version.Parameters
	}
	if t.versionID == nil {
		return false, nil
	}
	c.ScriptID, c.VersionID, c.TimeoutSeconds = t.scriptID, t.versionID, *t.timeout
	return true, nil
}

// timeout is the shortest of the version's, the key's and the deployment's (S2-mintime), in seconds.
func (s *Service) timeout(v *key.Viewer, version int) int {
	limits := []int{version, int(s.config.TimeoutLimit.Seconds())}
	if v.Key.ExecTimeoutSeconds != nil {
		limits = append(limits, *v.Key.ExecTimeoutSeconds)
	}
	return slices.Min(limits)
}

// room says whether there are computers, and place for one more call: one that it accepts is admitted at the host from here.
func (s *Service) room(ctx context.Context, t *target, c *Call) (*refusal, error) {
	if t.queued >= s.config.MaxQueued {
		return refuse(ComputerUnavailable), nil
	}
	if !s.host.Ours(t.owner) {
		return nil, nil // its owner has a computer
	}
	_, err := s.host.Report(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, runner.ErrNotConfigured):
		return refuse(NotConfigured), nil
	case err != nil || !s.host.Admit(ctx, c.ref(), c.ID):
		return refuse(ComputerUnavailable), nil
	}
	return nil, nil
}

// await waits for a call's end.
func (s *Service) await(ctx context.Context, a *accepted) (*Call, error) {
	if a.ended == nil || !s.host.Ours(a.owner) {
		return s.awaitElsewhere(ctx, a.call)
	}
	draining := s.host.Draining()
	for {
		select {
		case c := <-a.ended:
			c = c.copy()
			c.QueuedAt = a.call.QueuedAt
			return c, nil
		case <-draining:
			if now, err := readOne(ctx, s.db.SQL(), a.call.ID); err != nil || now == nil || now.Status == Queued {
				return nil, errStopping(a.call.ID)
			}
			draining = nil // it runs, and may still come to its end
		case <-s.host.Done():
			return nil, errStopping(a.call.ID)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func errStopping(callID string) error {
	return fault.NewProblem(fault.Unavailable, "the server stops: read the call %s again later", callID)
}

// awaitElsewhere waits for the end of a call that another server runs.
func (s *Service) awaitElsewhere(ctx context.Context, c *Call) (*Call, error) {
	ended := c
	err := s.host.Await(ctx, endedTopic(c.ID), func(ctx context.Context) (bool, error) {
		status, err := readEnd(ctx, s.db, c.OrganizationID, c.ID)
		return status.Ended, err
	})
	if err != nil {
		return nil, err
	}
	calls, err := byIDs(ctx, s.db.SQL(), c.OrganizationID, []string{c.ID})
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		ended = c
	}
	return ended, nil
}

// copy is the call as a value of its own: several may wait for one.
func (c *Call) copy() *Call {
	other := *c
	return &other
}
