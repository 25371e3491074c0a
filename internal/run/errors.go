package run

import (
	"errors"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// ErrFenced: the run is not this server's any more; nothing was written.
var ErrFenced = errors.New("run: another server has taken the run, or its lease ran out")

// reasonCode is what a NotConfigured refusal tells programs.
const reasonCode = "computer_not_configured"

func errNoRun() error {
	return fault.Plain(fault.NotFound, "input.run", "input.run: there is no such run")
}

func errFinished() error {
	return fault.Plain(fault.BadState, "input.run", "input.run: the run is finished")
}

// errNotConfigured says that there are no computers here.
func errNotConfigured() error {
	return &fault.NotConfigured{
		Detail:     fault.NewDetail(fault.Unconfigured, "input.run", "This deployment has no computers."),
		ReasonCode: reasonCode,
	}
}
