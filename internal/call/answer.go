package call

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/output"
)

const (
	// MaxAnswer is how many bytes of both outputs the model reads together, maxErrors how many of them standard error keeps where
	// standard output needs the rest (S2-cut).
	MaxAnswer = 32 << 10
	maxErrors = 8 << 10
)

// sentences are what the model reads where a call does not come back on its own terms (S2-fixed). Two have more to say: a time limit its seconds,
// and arguments that are not valid a second line.
var sentences = map[ErrorCode]string{
	InvalidArguments:    "Tool arguments were not valid.",
	Denied:              "Denied by policy.",
	NotConfigured:       "This tool is not configured on this deployment.",
	UnknownTool:         "There is no tool of this name in this run.",
	TimeLimit:           "The script was stopped after %d seconds.",
	OutOfMemory:         "The script was stopped: it used more memory than it may.",
	ByRequest:           "The call was cancelled.",
	ScriptDeleted:       "The script was deleted, and stopped.",
	ComputerLost:        "The computer was lost before the script finished.",
	ComputerUnavailable: "No computer could be made for this call.",
	Nested:              "A script cannot be used in a nested agent turn.",
}

// notAnObject is the sentence of arguments that are no object (S1-argstr).
const notAnObject = "arguments must be a JSON object"

// sentence is an error code's, for a call with this time limit.
func sentence(code ErrorCode, timeoutSeconds int) string {
	if code == TimeLimit {
		return fmt.Sprintf(sentences[code], timeoutSeconds)
	}
	return sentences[code]
}

// block is what the model reads of one stream.
type block struct {
	kept    []byte // ends on a UTF-8 boundary where it is cut
	leftOut int64
}

// cut shares the answer's room between the two streams: standard error keeps up to 8 KiB, output the rest, each gets what the
// other leaves.
func cut(stdout, stderr output.Total) (out, errs block) {
	o, e := stdout.Written, stderr.Written
	errRoom := min(e, maxErrors)
	outRoom := min(o, MaxAnswer-errRoom)
	errRoom = min(e, MaxAnswer-outRoom)
	return cutOne(stdout, outRoom), cutOne(stderr, errRoom)
}

func cutOne(t output.Total, room int64) block {
	kept := t.Head[:min(room, int64(len(t.Head)))]
	if int64(len(kept)) < t.Written {
		kept = wholeCharacters(kept, t.Head)
	}
	return block{kept, t.Written - int64(len(kept))}
}

// wholeCharacters takes off the end of kept what begins a character that goes on behind it in all.
func wholeCharacters(kept, all []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(kept); n++ {
		start := len(kept) - n
		if !utf8.RuneStart(all[start]) {
			continue
		}
		r, size := utf8.DecodeRune(all[start:])
		whole := r != utf8.RuneError || size > 1
		if (whole && size > n) || !utf8.FullRune(all[start:]) {
			return kept[:start]
		}
		break
	}
	return kept
}

// write appends the block under its name: a block without a final newline gets one, an empty one is one empty line.
func (b block) write(to *bytes.Buffer, name string) {
	to.WriteString(name + ":\n")
	to.Write(b.kept)
	if len(b.kept) == 0 || b.kept[len(b.kept)-1] != '\n' {
		if len(b.kept) > 0 || b.leftOut == 0 {
			to.WriteByte('\n')
		}
	}
	if b.leftOut > 0 {
		fmt.Fprintf(to, "[%d bytes left out]\n", b.leftOut)
	}
}

// answer is the text of a call that ran: how it ended, then both outputs (S2-cut), then its files.
func (o *outcome) answer(out, errs block) string {
	var b bytes.Buffer
	switch {
	case o.code != "":
		b.WriteString(sentence(o.code, o.timeoutSeconds) + "\n")
	default:
		fmt.Fprintf(&b, "exit_code: %d\n", o.exitCode)
		if o.signal != "" {
			fmt.Fprintf(&b, "signal: %s\n", o.signal)
		}
	}
	out.write(&b, "stdout")
	errs.write(&b, "stderr")
	o.made.write(&b)
	return readable(b.Bytes())
}

// readable reads bytes as UTF-8: each byte that is none becomes U+FFFD.
func readable(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}
