package call

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Status says where a call stands (SDL: CallStatus).
type Status string

// The states of a call. The first two go on; the others are ends.
const (
	Queued    Status = "QUEUED"
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	TimedOut  Status = "TIMED_OUT"
	Cancelled Status = "CANCELLED"
	Refused   Status = "REFUSED"
	Lost      Status = "LOST"
)

// moves are the changes of a call's state that there are. RUNNING goes to REFUSED where the computer would not start the program.
var moves = map[Status][]Status{
	Queued:    {Running, Cancelled, Refused, Lost},
	Running:   {Succeeded, Failed, TimedOut, Cancelled, Refused, Lost},
	Succeeded: {},
	Failed:    {},
	TimedOut:  {},
	Cancelled: {},
	Refused:   {},
	Lost:      {},
}

// May says whether a call in this state can go to the next one.
func (s Status) May(next Status) bool { return slices.Contains(moves[s], next) }

// Ended says whether the state is an end.
func (s Status) Ended() bool { return len(moves[s]) == 0 }

// ErrorCode says why a call did not come back on its own terms (SDL: CallErrorCode).
type ErrorCode string

// The error codes. Each has a fixed sentence: see answer.go.
const (
	InvalidArguments    ErrorCode = "INVALID_ARGUMENTS"
	Denied              ErrorCode = "DENIED"
	NotConfigured       ErrorCode = "NOT_CONFIGURED"
	UnknownTool         ErrorCode = "UNKNOWN_TOOL"
	PackageRevoked      ErrorCode = "PACKAGE_REVOKED"
	InstallFailed       ErrorCode = "INSTALL_FAILED"
	TimeLimit           ErrorCode = "TIMED_OUT"
	OutOfMemory         ErrorCode = "OUT_OF_MEMORY"
	ByRequest           ErrorCode = "CANCELLED"
	ScriptDeleted       ErrorCode = "SCRIPT_DELETED"
	ComputerLost        ErrorCode = "COMPUTER_LOST"
	ComputerUnavailable ErrorCode = "COMPUTER_UNAVAILABLE"
	Nested              ErrorCode = "NESTED"
)

// Call is one use of a tool (SDL: Call).
type Call struct {
	ID             string
	OrganizationID string
	RunID          *string
	AgentID        *string
	KeyID          string
	Tool           string
	ScriptID       *string
	VersionID      *string
	trial          bool            // of a draft; it is only written
	Arguments      json.RawMessage // as they came; {} where there were none
	TimeoutSeconds int
	Status         Status
	ErrorCode      *ErrorCode
	Text           string
	ExitCode       *int
	Signal         *string
	// StdoutCut and StderrCut are the blocks of the text, as bytes, without the cut's mark.
	StdoutCut, StderrCut []byte
	Truncated            bool
	Output               *OutputInfo
	// LeftOnComputer are names in its folder of outputs that were not kept, at most MaxLeft.
	LeftOnComputer  []string
	QueuedAt        time.Time
	StartedAt       *time.Time
	FinishedAt      *time.Time
	DurationMs      *int
	CPUMs           *int
	PeakMemoryBytes *int64
	// What Evidence has besides.
	endReason       *EndReason
	processesKilled *int
	isolation       []byte
}

// Stdout is the standard output in the text, U+FFFD for what is no UTF-8.
func (c *Call) Stdout() string { return readable(c.StdoutCut) }

// Stderr is the standard error in the text, U+FFFD for what is no UTF-8.
func (c *Call) Stderr() string { return readable(c.StderrCut) }

// OutputInfo is what is kept of a call's output (SDL: CallOutputInfo).
type OutputInfo struct {
	StdoutBytes  int64
	StdoutSha256 *string
	StderrBytes  int64
	StderrSha256 *string
	// URL is the path of the raw bytes; nil until the end, and where nothing is kept.
	URL     *string
	Dropped int64
}

// Filter narrows a list of calls (SDL: CallFilter). Nil does not narrow; an empty Status matches none.
type Filter struct {
	Run    *string
	Agent  *string
	Script *string
	Tool   *string
	Status []Status
}

// ToolCallInput is what toolCall takes.
type ToolCallInput struct {
	Run            *string
	Name           string
	Arguments      json.RawMessage // nil or null: {}
	Version        *int
	Wait           *bool // nil: true
	IdempotencyKey *string
}

// ToolCallPayload is what toolCall answers.
type ToolCallPayload struct {
	Call       *Call
	UserErrors []fault.UserError
}

// CancelInput is what callCancel takes.
type CancelInput struct {
	Call string
}

// CancelPayload is what callCancel answers.
type CancelPayload struct {
	Call       *Call
	UserErrors []fault.UserError
}

// OutputStream names one of the two outputs of a program (SDL: OutputStream).
type OutputStream string

// The two outputs.
const (
	Stdout OutputStream = "STDOUT"
	Stderr OutputStream = "STDERR"
)

// OutputEvent is what Watch delivers: *OutputChunk, *CallFinished or *event.StreamGap (SDL: CallOutputEvent).
type OutputEvent any

// OutputChunk is bytes that a call printed (SDL: OutputChunk).
type OutputChunk struct {
	Cursor event.Cursor
	CallID string
	// Offset is where it begins, in bytes of its stream.
	Offset int64
	Stream OutputStream
	// Text is Data read as UTF-8, U+FFFD for a byte that is none.
	Text string
	Data []byte
	At   time.Time
}

// CallFinished is the last event of a call's output (SDL: CallFinished).
type CallFinished struct {
	Cursor event.Cursor
	Call   *Call
}
