package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/doctor"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// diagnosed is the end of a doctor that found something: the severity is the exit code, and all has been said.
type diagnosed doctor.Severity

// Error implements error.
func (d diagnosed) Error() string {
	return "the worst that was found is a " + doctor.Severity(d).String()
}

// examine says what this machine offers to computers.
func examine(ctx context.Context, c *config, out io.Writer) error {
	runsc, err := c.runsc()
	if err != nil {
		return err
	}
	image, err := c.image()
	if err != nil {
		return err
	}
	d, err := doctor.Examine(ctx, doctor.Config{
		Runsc: runsc, Image: image, Isolation: runner.IsolationLevel(c.Isolation), Computers: c.Computers, Data: c.Data,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(d)
	} else {
		err = writeDiagnosis(out, d)
	}
	if err == nil && d.Severity != doctor.Good {
		err = diagnosed(d.Severity)
	}
	return err
}

// writeDiagnosis writes a line for each finding, and what to do below it.
func writeDiagnosis(out io.Writer, d doctor.Diagnosis) error {
	var b strings.Builder
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "%-8s %-16s %s\n", f.Severity, f.Name, f.Found)
		if f.Advice != "" {
			fmt.Fprintf(&b, "%25s → %s\n", "", strings.ReplaceAll(f.Advice, "\n", "\n"+strings.Repeat(" ", 28)))
		}
	}
	b.WriteString(map[doctor.Severity]string{
		doctor.Good:    "\nAll is good.\n",
		doctor.Warning: "\nComputers work, with less than there could be.\n",
		doctor.Failure: "\nThere are no computers here: calls are refused.\n",
	}[d.Severity])
	_, err := io.WriteString(out, b.String())
	return err
}
