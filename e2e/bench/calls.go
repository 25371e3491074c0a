package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	firstPairs = 24
	warmPairs  = 60

	firstBar = 1.25
)

// firstCall compares the first call of a run, from request to answer, with a bare `runsc run` of the same program on the same root.
func (b *bench) firstCall(ctx context.Context) (rows []row, err error) {
	bare, err := runner.NewBare(b.runsc, b.image, filepath.Join(b.folder, "hello"), hello)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	var ours, reference sample
	for range 1 + firstPairs {
		run, err := b.newRun(ctx, "hello")
		if err != nil {
			return nil, err
		}
		if err := ours.timed(func() error { return b.callHello(ctx, run) }); err != nil {
			return nil, err
		}
		if err := b.finish(ctx, run); err != nil {
			return nil, err
		}
		var out []byte
		if err := reference.timed(func() (err error) { out, err = bare.Run(ctx); return err }); err != nil {
			return nil, err
		}
		if string(out) != "hello\n" {
			return nil, fmt.Errorf("the bare sandbox printed %q", out)
		}
	}
	ours, reference = ours[1:], reference[1:] // the first pair warms caches
	return []row{
		pairs("first call of a run, its computer made for it / bare runsc run, p50", ours, reference, firstBar),
	}, nil
}

// warmCall compares a further call of a run with the host's own python3.
func (b *bench) warmCall(ctx context.Context) ([]row, error) {
	run, err := b.newRun(ctx, "hello")
	if err != nil {
		return nil, err
	}
	if err := b.callHello(ctx, run); err != nil { // makes the computer
		return nil, err
	}
	var ours, reference sample
	for range warmPairs {
		if err := ours.timed(func() error { return b.callHello(ctx, run) }); err != nil {
			return nil, err
		}
		err := reference.timed(func() error {
			out, err := exec.CommandContext(ctx, b.python, "-c", hello).Output()
			if err == nil && string(out) != "hello\n" {
				err = fmt.Errorf("python3 printed %q", out)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return []row{
		pairs("a further call in a run / native python3 -c, p50", ours, reference, 0),
		ratio("the same, p99", ours.ms(.99), reference.ms(.99), 0, "ms"),
	}, b.finish(ctx, run)
}
