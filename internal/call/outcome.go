package call

import (
	"context"
	"errors"

	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// refusal is why a call is refused, and what the model reads.
type refusal struct {
	code ErrorCode
	text string
}

// refuse is the refusal with the code's own sentence.
func refuse(code ErrorCode) *refusal { return &refusal{code, sentence(code, 0)} }

// outcome is how a call that was started came out.
type outcome struct {
	status         Status
	code           ErrorCode // empty: it came back on its own terms
	exitCode       int
	signal         string
	timeoutSeconds int
	reason         EndReason // empty: it was refused
	measured       bool      // the result's times and sizes hold
	ran            bool      // its program came to an end, and the computer is there
	made           *outputs  // what it left in its folder of outputs; nil: nobody has looked
	result         runner.Result
}

// conclude makes of what the computer answered the call's state (the table of states in rules: S2-fixed). cause is why the call's
// context ended, nil where it did not.
func conclude(res runner.Result, err error, cause error, timeoutSeconds int) *outcome {
	o := &outcome{timeoutSeconds: timeoutSeconds, result: res, measured: err == nil, ran: err == nil}
	switch {
	case err != nil && cause != nil && errors.Is(err, context.Canceled), err == nil && res.Reason == runner.ReasonCancelled:
		o.stopped(cause)
	case err != nil && nothingRan(err):
		o.status, o.code = Refused, ComputerUnavailable
	case errors.Is(err, runner.ErrSink):
		o.status, o.code, o.reason = Lost, ComputerLost, EndOutput
		o.measured = res.Isolation != nil
	case err != nil:
		o.stopped(run.StopLost)
	case res.Reason == runner.ReasonTimeout:
		o.status, o.code, o.reason = TimedOut, TimeLimit, EndTime
	case res.Reason == runner.ReasonMemory:
		o.status, o.code, o.reason = Failed, OutOfMemory, EndMemory
	case res.ExitCode == 0 && res.Signal == "":
		o.status, o.reason = Succeeded, EndExit
	case res.Signal == "":
		o.status, o.exitCode, o.reason = Failed, res.ExitCode, EndExit
	default:
		o.status, o.exitCode, o.signal, o.reason = Failed, res.ExitCode, res.Signal, EndSignal
	}
	return o
}

// stopped is the outcome of a call that was stopped for a reason.
func (o *outcome) stopped(cause error) {
	var why run.Stop
	errors.As(cause, &why)
	switch why {
	case run.StopCancelled:
		o.status, o.code = Cancelled, ByRequest
	case run.StopDeleted:
		o.status, o.code = Cancelled, ScriptDeleted
	default:
		o.status, o.code = Lost, ComputerLost
	}
	o.reason = endOf(o.code)
}

// nothingRan says whether an error means that the program was not started.
func nothingRan(err error) bool {
	_, file := errors.AsType[*runner.FileError](err)
	return file || errors.Is(err, runner.ErrTooLarge) || errors.Is(err, runner.ErrInvalid) || errors.Is(err, runner.ErrNotConfigured) ||
		errors.Is(err, runner.ErrUnavailable)
}
