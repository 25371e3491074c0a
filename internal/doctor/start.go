package doctor

import (
	"fmt"
	"os"
	"strings"
)

// How many open files a server and its runner process need: beside those for every computer (a sandbox's sockets, pipes and processes there; a call's pipes,
// its spool and who waits for it here) some of their own, and room for computers that are being made or have just gone.
const (
	serverFiles = 128
	serverEach  = 12
	runnerFiles = 128
	runnerEach  = 10
)

// AtStart is what a server that starts is to say: what keeps it from having all the computers that it is to have, and what is not as it seems. It is
// part of what a doctor finds. digest is the image's, empty where it is not known.
func AtStart(c Config, digest string) (list []Finding) {
	if f := openFiles(ReadMachine(os.DirFS("/"), os.Geteuid()).OpenFiles, c.Computers); f.Severity != Good {
		list = append(list, f)
	}
	if c.Image == "" || digest == "" {
		return list
	}
	m, err := ReadManifest(c.Image)
	if f := manifest(c.Image, digest, m, err); f.Severity != Good {
		list = append(list, f)
	}
	return list
}

// openFiles is whether a limit of open files is enough for that many computers; 0 is unknown.
func openFiles(limit int64, computers int) Finding {
	if limit == 0 {
		return Finding{"open files", Warning, "the limit is unknown", "Is /proc mounted?"}
	}
	server, process := serverFiles+serverEach*int64(computers), runnerFiles+runnerEach*int64(computers)
	f := good("open files", fmt.Sprintf("at most %d in a process; with %d computers the server may need %d, and one for each connection, its runner process %d",
		limit, computers, server, process))
	if need := max(server, process); limit < need {
		f.Severity = Warning
		f.Advice = fmt.Sprintf("Calls are refused where there are too few: raise the hard limit to %d or more (ulimit -Hn, LimitNOFILE= of a systemd unit, "+
			"--ulimit nofile= of a container)", need)
		fit := min((limit-serverFiles)/serverEach, (limit-runnerFiles)/runnerEach)
		if fit < 1 { // not even for one
			f.Severity = Failure
			f.Advice += "."
		} else {
			f.Advice += fmt.Sprintf(", or lower --computers to %d.", fit)
		}
	}
	return f
}

// manifest is what the file beside an image says of it.
func manifest(image, digest string, m *Manifest, fault error) Finding {
	switch {
	case fault != nil:
		return Finding{"image", Warning, fmt.Sprintf("%s, %s; its manifest: %v", image, digest, fault), "Build the image again, or remove the manifest."}
	case m == nil:
		return good("image", fmt.Sprintf("%s, %s, without a manifest", image, digest))
	case m.Digest != digest:
		return Finding{"image", Warning, fmt.Sprintf("%s, %s; the manifest beside it belongs to another one, %s", image, digest, m.Digest),
			"One of the two was replaced alone: put back what belongs together, or build again with make image."}
	}
	found := fmt.Sprintf("%s, %s, of %s", image, digest, m.Release)
	if n := len(m.LeftOut); n > 0 {
		found += fmt.Sprintf("; %d packages were left out: %s", n, strings.Join(m.LeftOut, " "))
	}
	return good("image", found)
}
