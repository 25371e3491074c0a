package call

import (
	"context"
	"errors"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
)

const (
	// endPatience is how long the end of a call is tried to be written, and endPause the pause between two tries. After that the run is
	// given up: the call is lost when its lease has run out.
	endPatience = 12 * time.Second
	endPause    = 250 * time.Millisecond
)

// finish makes of an outcome the call's end: its state, its answer and what is kept of its output, in one transaction that counts only while
// the run is still ours; then all who wait or watch are told. It does so also where the call's context has ended.
func (s *Service) finish(m *run.Machine, c *claimed, o *outcome, w *output.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), endPatience)
	defer cancel()
	var summary output.Summary
	if w != nil {
		var err error
		if summary, err = w.Finish(ctx); err != nil {
			s.log.WarnContext(ctx, "the output of a call stays in its spool", "call", c.ID, "error", err)
		}
	}
	e := o.end(&c.Call, summary, s.now())
	isolation, err := isolationOf(o.result.Isolation)
	if err != nil {
		s.log.ErrorContext(ctx, "how a call was isolated cannot be kept", "call", c.ID, "error", err)
	}
	e.isolation = isolation
	written, err := s.write(ctx, e, m)
	if written && m.Direct {
		m.Finished()
	}
	if written {
		s.deliver(e.Call)
		s.signal(ctx, c.ID)
	}
	if w != nil {
		if err := w.End(ctx, []byte(c.ID)); err != nil {
			s.log.WarnContext(ctx, "the end of a call was not told to all, or its output is not a blob yet", "call", c.ID, "error", err)
		}
	}
	if err != nil {
		s.log.ErrorContext(ctx, "the end of a call cannot be written: its run is given up", "call", c.ID, "error", err)
	}
	if !written {
		return run.ErrFenced
	}
	return nil
}

// write writes an end, again and again until it is written or known to be another's.
func (s *Service) write(ctx context.Context, e end, m *run.Machine) (bool, error) {
	for {
		written, err := finish(ctx, s.db, e, m.Lease(), s.withEnd(e, m))
		if err == nil || ctx.Err() != nil {
			return written, err
		}
		select {
		case <-time.After(endPause):
		case <-ctx.Done():
			return false, errors.Join(err, ctx.Err())
		}
	}
}

// withEnd writes what is written together with a call's end: its artifacts' rows, and that the run which was made for it is finished.
func (s *Service) withEnd(e end, m *run.Machine) func(context.Context, *database.Tx) error {
	return func(ctx context.Context, tx *database.Tx) error {
		if err := s.artifacts.Insert(ctx, tx, e.OrganizationID, e.ID, e.artifacts, *e.FinishedAt); err != nil || !m.Direct {
			return err
		}
		return run.FinishDirect(ctx, tx, []string{e.ID}, *e.FinishedAt)
	}
}

// end is the call as it ended at a time, with its answer.
func (o *outcome) end(c *Call, summary output.Summary, at time.Time) end {
	ended := *c
	var artifacts []*artifact.Artifact
	ended.Status, ended.FinishedAt = o.status, &at
	if o.code != "" {
		ended.ErrorCode = &o.code
	}
	if o.status == Refused {
		ended.Text = sentence(o.code, 0)
	} else {
		out, errs := cut(summary.Stdout, summary.Stderr)
		ended.Text, ended.StdoutCut, ended.StderrCut = o.answer(out, errs), out.kept, errs.kept
		ended.Truncated = out.leftOut > 0 || errs.leftOut > 0
	}
	ended.Output = infoOf(c.ID, o.status, summary)
	if o.status == Succeeded || o.status == Failed && o.code == "" {
		ended.ExitCode = &o.exitCode
	}
	if o.made != nil {
		ended.LeftOnComputer, artifacts = o.made.left(), o.made.kept
	}
	if o.signal != "" {
		ended.Signal = &o.signal
	}
	if o.reason != "" {
		ended.endReason = &o.reason
	}
	if o.measured {
		killed := o.result.LeftOver
		ended.processesKilled = &killed
		wall, cpu := int(o.result.Wall.Milliseconds()), int(o.result.CPU.Milliseconds())
		ended.DurationMs, ended.CPUMs = &wall, &cpu
		if o.result.PeakMemoryBytes > 0 {
			ended.PeakMemoryBytes = &o.result.PeakMemoryBytes
		}
	}
	return end{&ended, summary, artifacts}
}

// infoOf is what a call's end tells of its output. A stream without a byte has the hash of nothing.
func infoOf(callID string, status Status, s output.Summary) *OutputInfo {
	info := &OutputInfo{StdoutBytes: s.Stdout.Bytes, StderrBytes: s.Stderr.Bytes, Dropped: s.Dropped, URL: urlOf(callID, status, s.Chunks)}
	if s.Stdout.SHA256 != "" {
		info.StdoutSha256 = &s.Stdout.SHA256
	}
	if s.Stderr.SHA256 != "" {
		info.StderrSha256 = &s.Stderr.SHA256
	}
	return info
}

// urlOf is the path of the raw bytes of an ended call's output, nil where there are none.
func urlOf(callID string, status Status, chunks int64) *string {
	if !status.Ended() || chunks == 0 {
		return nil
	}
	url := "/calls/" + callID + "/output"
	return &url
}
