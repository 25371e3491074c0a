package fault

import "fmt"

// ProblemCode is the stable code of a top-level error, answered as extensions.code.
type ProblemCode string

// The codes of top-level errors. The HTTP statuses that go with them are the edge's (graph/errors.go).
const (
	Unauthenticated  ProblemCode = "UNAUTHENTICATED"
	BadRequest       ProblemCode = "BAD_REQUEST"
	ParseFailed      ProblemCode = "PARSE_FAILED"
	ValidationFailed ProblemCode = "VALIDATION_FAILED"
	LimitExceeded    ProblemCode = "LIMIT_EXCEEDED"
	BadCursor        ProblemCode = "BAD_CURSOR"
	Missing          ProblemCode = "NOT_FOUND"
	Denied           ProblemCode = "DENIED"
	TimedOut         ProblemCode = "TIMEOUT"
	Unavailable      ProblemCode = "UNAVAILABLE"
	Internal         ProblemCode = "INTERNAL"
)

// Problem is a refusal of the whole request or of one root field.
type Problem struct {
	Code    ProblemCode
	Message string
	cause   error
}

// NewProblem makes a Problem; its message is safe to show.
func NewProblem(code ProblemCode, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Because keeps the cause for the log; it is never shown.
func (p *Problem) Because(err error) *Problem {
	p.cause = err
	return p
}

// Error answers the message, which is safe to show.
func (p *Problem) Error() string { return p.Message }

// Unwrap answers the cause, or nil.
func (p *Problem) Unwrap() error { return p.cause }
