package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

var errLagging = errors.New("output: the replica does not take the next chunk")

// Recover makes blobs of the spools that an earlier process of this server left, without what a crash tore, and gives each call
// with its summary to store, which is to commit them (where the call's row still waits for its end) and to tell the watchers, with
// Ended. When store succeeds the spool is removed; when it fails, Recover goes on with the others and answers all errors. Call
// it before calls are run.
func (l *Log) Recover(ctx context.Context, store func(ctx context.Context, callID string, s Summary) error) error {
	paths, err := filepath.Glob(filepath.Join(globQuote(l.options.Dir), "*"+spoolSuffix))
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	var failures []error
	for _, path := range paths {
		callID := strings.TrimSuffix(filepath.Base(path), spoolSuffix)
		if l.writer(callID) != nil {
			continue
		}
		summary, err := l.Rescue(ctx, callID)
		if err == nil {
			err = store(ctx, callID, summary)
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("output of call %s: %w", callID, err))
		}
	}
	return errors.Join(failures...)
}

// Rescue makes a blob of what can be had of the output of a call that was lost: from the spool in this server's folder, or, where
// another server ran it, from the replica. It answers a summary without chunks where there is nothing. The spool stays.
func (l *Log) Rescue(ctx context.Context, callID string) (Summary, error) {
	path, err := l.spool(callID)
	if err != nil {
		return Summary{}, err
	}
	if l.writer(callID) != nil {
		return Summary{}, ErrBusy
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		file, err = l.fetch(ctx, callID)
	}
	if err != nil {
		return Summary{}, fmt.Errorf("output: %w", err)
	}
	defer file.Close()
	summary, size, err := scan(file)
	if err != nil || summary.Chunks == 0 {
		return summary, err
	}
	name := blobName(callID)
	if _, err := l.options.Blobs.PutNamed(ctx, name, io.NewSectionReader(file, 0, size), size); err != nil {
		return Summary{}, err
	}
	summary.Blob = name
	return summary, nil
}

// Ended tells the watchers of a lost call that it has ended; a running one's Writer has End for it. Call it when the end is
// committed, with the summary from Recover or Rescue.
func (l *Log) Ended(ctx context.Context, callID string, s Summary, finished []byte) error {
	last := event.Event{Offset: s.Chunks + 1, Last: true, Payload: finished}
	return l.options.Bus.Publish(ctx, event.OutputTopic(callID), last)
}

// scan reads a log to its end, or to where it is torn, and answers the size of what is whole.
func scan(r io.Reader) (Summary, int64, error) {
	f := framesAt(r, mark{})
	tallies := [2]tally{newTally(), newTally()}
	size := int64(0)
	for {
		e, err := f.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			break
		}
		if err != nil {
			return Summary{}, 0, fmt.Errorf("output: %w", err)
		}
		c, err := DecodeChunk(e.Payload)
		if err != nil || c.Offset != tallies[c.Stream-Stdout].kept {
			f.number = e.Offset - 1
			break
		}
		t := &tallies[c.Stream-Stdout]
		t.write(c.Data)
		t.keep(c.Data)
		size = f.size
	}
	return summarize(&tallies[0], &tallies[1], f.number), size, nil
}

// fetch writes what the replica has of a call into a file without a name.
func (l *Log) fetch(ctx context.Context, callID string) (*os.File, error) {
	file, err := os.CreateTemp(l.options.Dir, "fetch")
	if err != nil {
		return nil, err
	}
	err = os.Remove(file.Name())
	if replica := l.options.Bus.Replica(); replica != nil && err == nil {
		err = fetch(ctx, replica, event.OutputTopic(callID), file)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func fetch(ctx context.Context, replica event.Replica, topic event.Topic, w io.Writer) error {
	if _, err := io.WriteString(w, spoolMagic); err != nil {
		return err
	}
	for after := int64(0); ; {
		events, _, err := replica.Stored(ctx, topic, after, copyBatch)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			c, err := DecodeChunk(e.Payload)
			if e.Last || err != nil {
				return nil // the end of the chunks
			}
			frame, _ := newFrame(e.Offset, c)
			if _, err := w.Write(frame); err != nil {
				return err
			}
			after = e.Offset
		}
	}
}

// globQuote takes the meaning from characters that a pattern would give one.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
