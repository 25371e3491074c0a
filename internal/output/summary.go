package output

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// MaxHead is how many first bytes of each stream are held for the call's answer.
const MaxHead = 32 << 10

// Total is what there is of one stream.
type Total struct {
	// Bytes kept, which are the stream's first ones, and their SHA-256 in lower-case hexadecimal.
	Bytes  int64
	SHA256 string
	// Written is what the program wrote, kept or not. Of a lost call only what was kept is known.
	Written int64
	// Head is the first bytes written, at most MaxHead.
	Head []byte
}

// Summary is what there is of a call's output when it has ended.
type Summary struct {
	Stdout, Stderr Total
	// Dropped bytes were written past the bound, over both streams.
	Dropped int64
	// Chunks is the number of chunks, and the offset of the last one.
	Chunks int64
	// Blob names the log in the blob store.
	Blob string
}

// tally counts one stream.
type tally struct {
	kept, written int64
	sum           hash.Hash
	head          []byte
}

func newTally() tally { return tally{sum: sha256.New()} }

// write counts what the program wrote.
func (t *tally) write(p []byte) {
	t.written += int64(len(p))
	if room := MaxHead - len(t.head); room > 0 {
		t.head = append(t.head, p[:min(room, len(p))]...)
	}
}

// keep counts what was put into the log.
func (t *tally) keep(p []byte) {
	t.kept += int64(len(p))
	t.sum.Write(p)
}

func (t *tally) total() Total {
	return Total{Bytes: t.kept, SHA256: hex.EncodeToString(t.sum.Sum(nil)), Written: t.written, Head: t.head}
}

func summarize(stdout, stderr *tally, chunks int64) Summary {
	dropped := stdout.written - stdout.kept + stderr.written - stderr.kept
	return Summary{Stdout: stdout.total(), Stderr: stderr.total(), Dropped: dropped, Chunks: chunks}
}
