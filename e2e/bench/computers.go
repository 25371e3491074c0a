package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	callTime  = 30 * time.Second // the most that one call may take
	closeTime = 20 * time.Second

	runnerPairs = 150
	nodePairs   = 15
	directPairs = 20
	rateRounds  = 3
	rateWindow  = 2 * time.Second
	idleCount   = 4
	idleTime    = 5 * time.Second

	warmBar     = 0.7
	warmLateBar = 1.5
	directBar   = 2
	warmRateBar = 5
	freshBar    = 1.2
	memoryBar   = 40 // MiB
	idleBar     = 1  // ms a second
)

// computer starts a computer of the default spec.
func (b *bench) computer(ctx context.Context) (runner.Computer, error) {
	return b.runner.Start(ctx, runner.Spec{ID: fmt.Sprintf("bench_%d", b.computers.Add(1))})
}

// drop ends a computer, whatever has become of ctx.
func drop(c runner.Computer) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return c.Close(ctx)
}

// callOn makes a program's call and looks at what it prints.
func callOn(ctx context.Context, c runner.Computer, p program, interpreter string) error {
	var out []byte
	res, err := c.Call(ctx, p.call(interpreter), runner.SinkFunc(func(_ runner.Stream, b []byte) error {
		out = append(out, b...)
		return nil
	}))
	if err == nil && (res.Reason != runner.ReasonExit || res.ExitCode != 0 || string(out) != p.prints) {
		err = fmt.Errorf("%s: %+v, printed %q", p.name, res, out)
	}
	return err
}

// onComputer does something with a computer that has made a call of a program.
func (b *bench) onComputer(ctx context.Context, p program, interpreter string, f func(runner.Computer) error) (err error) {
	c, err := b.computer(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := drop(c); err == nil {
			err = e
		}
	}()
	if err := callOn(ctx, c, p, interpreter); err != nil {
		return err
	}
	if err := quiet(ctx); err != nil {
		return err
	}
	return f(c)
}

// warm compares a further call on a computer with the host's own python3, and with the same in bubblewrap.
func (b *bench) warm(ctx context.Context) ([]row, error) {
	var ours, reference, wrapped sample
	err := b.onComputer(ctx, hello, "python3", func(c runner.Computer) error {
		for range runnerPairs {
			if err := ours.timed(func() error { return callOn(ctx, c, hello, "python3") }); err != nil {
				return err
			}
			if err := reference.timed(func() error { return says(native(ctx, b.python, "-c", hello.source), hello.prints) }); err != nil {
				return err
			}
			if b.bwrap == "" {
				continue
			}
			if err := wrapped.timed(func() error { return says(b.inBubblewrap(ctx, b.python, "-c", hello.source), hello.prints) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows := []row{
		pairs("runner: warm call to its end / native python3 -c, p50", ours, reference, warmBar),
		ratio("the same, p99", ours.ms(.99), reference.ms(.99), warmLateBar, "ms"),
	}
	if b.bwrap == "" {
		return append(rows, words("the same / bwrap --unshare-all python3 -c", "bubblewrap is not installed")), nil
	}
	return append(rows, pairs("the same / bwrap --unshare-all python3 -c, p50", ours, wrapped, 0)), nil
}

// warmNode compares a further call of Node with the host's own.
func (b *bench) warmNode(ctx context.Context) ([]row, error) {
	const what = "runner: Node's warm call to its end / native node -e, p50"
	if b.node == "" {
		return []row{words(what, "node is not installed")}, nil
	}
	var ours, reference sample
	err := b.onComputer(ctx, helloNode, "node", func(c runner.Computer) error {
		for range nodePairs {
			if err := quiet(ctx); err != nil { // a Node that is started ahead takes its time
				return err
			}
			if err := ours.timed(func() error { return callOn(ctx, c, helloNode, "node") }); err != nil {
				return err
			}
			if err := quiet(ctx); err != nil {
				return err
			}
			if err := reference.timed(func() error { return says(native(ctx, b.node, "-e", helloNode.source), helloNode.prints) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []row{pairs(what, ours, reference, 0)}, nil
}

// direct compares a call on a computer of its own, one of those that wait, with the host's own python3. Taking the computer down, and the
// booting of the next one, come after the answer.
func (b *bench) direct(ctx context.Context) ([]row, error) {
	var ours, reference sample
	for range 1 + directPairs {
		if err := quiet(ctx); err != nil {
			return nil, err
		}
		var c runner.Computer
		err := ours.timed(func() (err error) {
			if c, err = b.computer(ctx); err == nil {
				err = callOn(ctx, c, hello, "python3")
			}
			return err
		})
		if c != nil {
			if e := drop(c); err == nil {
				err = e
			}
		}
		if err == nil {
			err = quiet(ctx)
		}
		if err == nil {
			err = reference.timed(func() error { return says(native(ctx, b.python, "-c", hello.source), hello.prints) })
		}
		if err != nil {
			return nil, err
		}
	}
	return []row{pairs("runner: call on a computer of its own, from those that wait / native python3 -c, p50", ours[1:], reference[1:], directBar)}, nil
}

// perSecond does f again and again, on all processors at once, and answers how often in a second.
func perSecond(ctx context.Context, f func(ctx context.Context, worker int) error) (float64, error) {
	if err := quiet(ctx); err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	speeds, errs := make([]float64, runtime.NumCPU()), make([]error, runtime.NumCPU())
	for w := range speeds {
		all.Go(func() {
			n, began := 0, time.Now()
			for time.Since(began) < rateWindow && errs[w] == nil {
				errs[w] = f(ctx, w)
				n++
			}
			speeds[w] = float64(n) / time.Since(began).Seconds()
		})
	}
	all.Wait()
	total := 0.0
	for w, s := range speeds {
		if errs[w] != nil {
			return 0, errs[w]
		}
		total += s
	}
	return total, nil
}

// throughput compares calls a second, warm ones and ones with a new computer each, with cold `runsc run`s: of a bundle whose root is folders, as
// bundles are, and of the computers' own image.
func (b *bench) throughput(ctx context.Context) (rows []row, failed error) {
	var warm, fresh, folders, image rates
	measures := []rate{{&warm, b.warmRate}}
	for _, of := range []struct {
		to    *rates
		image string
	}{{&folders, ""}, {&image, b.image}} {
		bare, closeBare, err := b.bares(hello.source, of.image)
		if err != nil {
			return nil, err
		}
		defer func() { failed = errors.Join(failed, closeBare()) }()
		measures = append(measures, rate{of.to, func(ctx context.Context) (float64, error) {
			return perSecond(ctx, func(ctx context.Context, w int) error { return bareRun(ctx, bare[w]) })
		}})
	}
	measures = append(measures, rate{&fresh, func(ctx context.Context) (float64, error) { return perSecond(ctx, b.freshCall) }})
	for range rateRounds {
		for _, m := range measures {
			n, err := m.of(ctx)
			if err != nil {
				return nil, err
			}
			*m.to = append(*m.to, n)
		}
	}
	return []row{
		faster("runner: warm calls a second / a loop of cold runsc run, on all processors", warm, folders, warmRateBar, "/s"),
		faster("the same, a new computer for each call", fresh, folders, freshBar, "/s"),
		faster("the same / a loop of cold runsc run on the computers' image", fresh, image, 0, "/s"),
	}, nil
}

// rate is calls a second, measured again and again.
type rate struct {
	to *rates
	of func(context.Context) (float64, error)
}

// warmRate has a computer for each processor.
func (b *bench) warmRate(ctx context.Context) (rate float64, err error) {
	var computers []runner.Computer
	defer func() {
		for _, c := range computers {
			if e := drop(c); err == nil {
				err = e
			}
		}
	}()
	for range runtime.NumCPU() {
		c, err := b.computer(ctx)
		if err != nil {
			return 0, err
		}
		computers = append(computers, c)
		if err := callOn(ctx, c, hello, "python3"); err != nil {
			return 0, err
		}
	}
	return perSecond(ctx, func(ctx context.Context, w int) error { return callOn(ctx, computers[w], hello, "python3") })
}

func (b *bench) freshCall(ctx context.Context, _ int) error {
	c, err := b.computer(ctx)
	if err != nil {
		return err
	}
	err = callOn(ctx, c, hello, "python3")
	if e := drop(c); err == nil {
		err = e
	}
	return err
}

// idle measures what computers cost that have made a call and wait for the next one.
func (b *bench) idle(ctx context.Context) (rows []row, err error) {
	var computers []runner.Computer
	defer func() {
		for _, c := range computers {
			if e := drop(c); err == nil {
				err = e
			}
		}
	}()
	for range idleCount {
		c, err := b.computer(ctx)
		if err != nil {
			return nil, err
		}
		computers = append(computers, c)
		if err := callOn(ctx, c, hello, "python3"); err != nil {
			return nil, err
		}
	}
	if err := quiet(ctx); err != nil {
		return nil, err
	}
	pids, err := sandboxes()
	if err != nil {
		return nil, err
	}
	pss, err := pssOf(pids)
	if err != nil {
		return nil, err
	}
	n := float64(idleCount + spares)
	before, began := cpuOf(pids), time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(idleTime):
	}
	used, seconds := cpuOf(pids)-before, time.Since(began).Seconds()
	return []row{
		alone("runner: memory of an idle computer (PSS)", float64(pss)/(1<<20)/n, memoryBar, "MiB"),
		alone("runner: processor time of an idle computer, each second", used.Seconds()*1000/seconds/n, idleBar, "ms"),
	}, nil
}

// sandboxes are the processes of this program's own computers, those that wait too: what the runner process has started.
func sandboxes() ([]int, error) {
	all, err := descendants(os.Getpid())
	if err != nil {
		return nil, err
	}
	for _, pid := range all {
		if firstArgument(pid) == runner.MainArg && parentOf(pid) == os.Getpid() {
			return descendants(pid)
		}
	}
	return nil, errors.New("there is no runner process")
}
