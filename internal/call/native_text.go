package call

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// What the model reads of the system's own tools that need no computer. number 0 stands for a script that is not in the run's snapshot.

// createdText tells what was written and from when it counts (S1-editnext, S1-newlive).
func createdText(saved *script.SavePayload, inSnapshot int) string {
	name, number := saved.Script.Name, saved.Version.Number
	var b strings.Builder
	if *saved.Created {
		fmt.Fprintf(&b, "Created the script %s, version %d.\n", name, number)
	} else {
		fmt.Fprintf(&b, "Replaced the script %s: it is version %d now.\n", name, number)
	}
	if inSnapshot > 0 {
		fmt.Fprintf(&b, "This run goes on with version %d, which it began with; version %d takes effect from the next run.\n", inSnapshot, number)
		return b.String()
	}
	b.WriteString("script_run runs it from now on.\n")
	if saved.Version.Parameters != nil {
		fmt.Fprintf(&b, "From the next run on it is also a tool of its own, under the name %s.\n", name)
	}
	return b.String()
}

// listText tells what the agent keeps and why (S1-listlive), a line each, by name.
func listText(entries []script.Entry, most int, snapshot map[string]int) string {
	if len(entries) == 0 {
		return fmt.Sprintf("There are no scripts yet; at most %d can be kept. script_create writes one.\n", most)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of at most %d scripts:\n", len(entries), most)
	for i, e := range entries {
		about := fmt.Sprintf("version %d", e.Version.Number)
		if e.Version.Parameters != nil {
			about += ", with parameters"
		}
		if n := snapshot[e.Script.Name]; n > 0 && n != e.Version.Number {
			about += fmt.Sprintf("; this run goes on with version %d", n)
		}
		line := fmt.Sprintf("- %s (%s): %s\n", e.Script.Name, about, strings.Join(strings.Fields(e.Version.Description), " "))
		if b.Len()+len(line) > MaxAnswer {
			fmt.Fprintf(&b, "[%d scripts left out]\n", len(entries)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// readText tells one script; of its source at most MaxAnswer bytes from the offset on, cut between characters.
func readText(e *script.Entry, offset, inSnapshot int) string {
	v := e.Version
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nversion: %d\n", e.Script.Name, v.Number)
	if inSnapshot > 0 && inSnapshot != v.Number {
		fmt.Fprintf(&b, "This run goes on with version %d; version %d takes effect from the next run.\n", inSnapshot, v.Number)
	}
	parameters := "none"
	if v.Parameters != nil {
		parameters = strings.TrimSpace(string(v.Parameters))
	}
	fmt.Fprintf(&b, "description:\n%s\nparameters:\n%s\n", v.Description, parameters)
	for offset > 0 && !utf8.RuneStart(v.Source[offset]) {
		offset--
	}
	end := min(len(v.Source), offset+MaxAnswer)
	for end < len(v.Source) && !utf8.RuneStart(v.Source[end]) {
		end--
	}
	fmt.Fprintf(&b, "source, %d bytes", len(v.Source))
	if offset > 0 {
		fmt.Fprintf(&b, ", from %d on", offset)
	}
	b.WriteString(":\n" + v.Source[offset:end])
	if !strings.HasSuffix(v.Source[:end], "\n") {
		b.WriteString("\n")
	}
	if end < len(v.Source) {
		fmt.Fprintf(&b, "[%d bytes left out; read on with offset %d]\n", len(v.Source)-end, end)
	}
	return b.String()
}

// deletedText tells what a deletion does (S1-delnow).
func deletedText(name string) string {
	return fmt.Sprintf("Deleted the script %s. It can be run no more; where it ran, it was stopped.\n", name)
}
