package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Bounds of a package.
const (
	// MaxPackageName is the longest name: with script__ in front it is as long as the names of model APIs may be.
	MaxPackageName = 56
	// MaxPath is the longest path of a file, in characters (S2-path); maxSegment the longest part of one, in bytes.
	MaxPath    = 255
	maxSegment = 255
	// MaxFiles is how many files a package has, and MaxPackage how many bytes they have together (S2-size).
	MaxFiles   = 200
	MaxPackage = 20 << 20
	// maxArguments is how many fixed arguments an entrypoint has, and maxArgument how many bytes one of them has.
	maxArguments = 64
	maxArgument  = 4096
	// maxTimeout bounds what a version may say, in seconds: a year. What counts at a call is the shortest of three (S2-mintime).
	maxTimeout = 365 * 24 * 60 * 60
	// MaxLabels is how many labels a script has.
	MaxLabels     = 32
	maxLabelName  = 63
	maxLabelValue = 255
	// maxMetadata is how many bytes a script's metadata has.
	maxMetadata = 64 << 10
	// maxLibraries is how many libraries a version names (S2-pkglim).
	maxLibraries      = 32
	maxLibraryName    = 214
	maxLibraryVersion = 128
)

// interpreters are what an entrypoint begins with (S2-entry).
var interpreters = []string{"python3", "node"}

// ValidPackageName says whether an organization's script can have the name.
func ValidPackageName(name string) bool { return len(name) <= MaxPackageName && ValidName(name) }

// checkPackageName holds the rule about the name of an organization's script.
func checkPackageName(at, name string) error {
	if ValidPackageName(name) {
		return nil
	}
	return fault.Plain(fault.Invalid, at, "%s must be a lower-case letter and then at most %d lower-case letters, digits, _ and -", at, MaxPackageName-1)
}

// check holds all rules that need nothing but the package, and tells all faults at once.
func (p Package) check() error {
	return errors.Join(
		text.Filled("input.description", p.Description, MaxDescription), p.checkEntrypoint(), checkParameters("input.parameters", p.Parameters),
		checkFiles(p.Files), checkLibraries(p.Packages), checkTimeout(p.TimeoutSeconds), checkLabels("input.labels", p.Labels), checkMetadata(p.Metadata),
	)
}

// checkMay holds the rules about what the viewer's key may do with the package.
func (p Package) checkMay(v *key.Viewer) error {
	var faults []error
	if p.Draft != nil && *p.Draft && !v.Has(key.Management) {
		faults = append(faults, fault.Plain(fault.Forbidden, "input.draft", "input.draft: a draft needs a key with the capability %s", key.Management))
	}
	for i, f := range p.Files {
		if i == MaxFiles {
			break // they are refused anyway
		}
		if f.FileID != nil && !v.Has(key.Files) {
			at := fileAt(i) + ".fileId"
			faults = append(faults, fault.Plain(fault.Forbidden, at, "%s: an upload needs a key with the capability %s", at, key.Files))
		}
	}
	return errors.Join(faults...)
}

// checkEntrypoint holds the rule S2-entry.
func (p Package) checkEntrypoint() error {
	const at = "input.entrypoint"
	switch n := len(p.Entrypoint); {
	case n < 2:
		return fault.Plain(fault.Invalid, at, "%s must name an interpreter (%s) and one of the files", at, strings.Join(interpreters, " or "))
	case n > maxArguments+2:
		return fault.Plain(fault.TooLarge, at, "%s has more than %d arguments", at, maxArguments)
	}
	var faults []error
	if !slices.Contains(interpreters, p.Entrypoint[0]) {
		faults = append(faults, fault.Plain(fault.Invalid, at+".0", "%s.0 must be %s", at, strings.Join(interpreters, " or ")))
	}
	entry := p.Entrypoint[1]
	switch {
	case strings.HasPrefix(entry, "-"): // the interpreter would take it for an option
		faults = append(faults, fault.Plain(fault.Invalid, at+".1", "%s.1 begins with -: the file comes right behind the interpreter, without options", at))
	case len(p.Files) > 0 && !slices.ContainsFunc(p.Files, func(f *FileInput) bool { return f.Path == entry }):
		faults = append(faults, fault.Plain(fault.Invalid, at+".1", "%s.1: %q is the path of none of the files", at, fmt.Sprintf("%.80s", entry)))
	}
	for i, argument := range p.Entrypoint[2:] {
		path := fmt.Sprintf("%s.%d", at, i+2)
		if len(argument) > maxArgument {
			faults = append(faults, fault.Plain(fault.TooLarge, path, "%s is longer than %d bytes", path, maxArgument))
			continue
		}
		faults = append(faults, text.Storable(path, argument))
	}
	return errors.Join(faults...)
}

// fileAt is where a package's file stands in the input.
func fileAt(i int) string { return fmt.Sprintf("input.files.%d", i) }

// checkFiles holds the rules S2-files, S2-path and S2-size as far as the input tells.
func checkFiles(files []*FileInput) error {
	const at = "input.files"
	switch n := len(files); {
	case n == 0:
		return fault.Plain(fault.Invalid, at, "%s is empty", at)
	case n > MaxFiles:
		return fault.Plain(fault.TooLarge, at, "%s has more than %d files", at, MaxFiles)
	}
	var faults []error
	known := paths{map[string]int{}, map[string]int{}}
	sizes := make([]int64, len(files))
	for i, f := range files {
		path := fileAt(i) + ".path"
		if err := checkPath(path, f.Path); err != nil {
			faults = append(faults, err)
		} else if err := known.add(path, f.Path, i); err != nil {
			faults = append(faults, err)
		}
		if (f.Content == nil) == (f.FileID == nil) {
			faults = append(faults, fault.Plain(fault.Invalid, fileAt(i), "%s must have exactly one of content and fileId", fileAt(i)))
		}
		if f.Content != nil {
			sizes[i] = int64(len(*f.Content))
		}
	}
	return errors.Join(errors.Join(faults...), checkSizes(sizes))
}

// checkSizes holds the rule S2-size about the files' bytes.
func checkSizes(sizes []int64) error {
	var faults []error
	total := int64(0)
	for i, size := range sizes {
		if size > MaxPackage {
			faults = append(faults, fault.Plain(fault.TooLarge, fileAt(i), "%s is larger than %d bytes", fileAt(i), MaxPackage))
		}
		total += size
	}
	if faults == nil && total > MaxPackage {
		return fault.Plain(fault.TooLarge, "input.files", "input.files have more than %d bytes together", MaxPackage)
	}
	return errors.Join(faults...)
}

// paths are those of a package's files, and the folders that they lie in, each with the place of the file that told of it first.
type paths struct{ files, folders map[string]int }

// add takes one more path, which is well formed, or refuses it: it is there, or a folder of one that is, or the other way round.
func (p paths) add(at, path string, i int) error {
	if before, ok := p.files[path]; ok {
		return fault.Plain(fault.Invalid, at, "%s repeats the path of %s", at, fileAt(before))
	}
	if inside, ok := p.folders[path]; ok {
		return fault.Plain(fault.Invalid, at, "%s is a folder of %s", at, fileAt(inside))
	}
	for end := strings.IndexByte(path, '/'); end >= 0; {
		if file, ok := p.files[path[:end]]; ok {
			return fault.Plain(fault.Invalid, at, "%s lies in %s, which is a file", at, fileAt(file))
		}
		next := strings.IndexByte(path[end+1:], '/')
		if next < 0 {
			break
		}
		end += 1 + next
	}
	p.files[path] = i
	for end, c := range path {
		if _, ok := p.folders[path[:end]]; c == '/' && !ok {
			p.folders[path[:end]] = i
		}
	}
	return nil
}

// checkPath holds the rules about one file's path: S2-path.
func checkPath(at, path string) error {
	if err := text.Storable(at, path); err != nil {
		return err
	}
	if utf8.RuneCountInString(path) > MaxPath {
		return fault.Plain(fault.Invalid, at, "%s is longer than %d characters", at, MaxPath)
	}
	if why := pathFault(path); why != "" {
		return fault.Plain(fault.Invalid, at, "%s %s", at, why)
	}
	return nil
}

// pathFault says what is wrong with a path, or nothing.
func pathFault(path string) string {
	switch {
	case path == "":
		return "is empty"
	case strings.HasPrefix(path, "/"):
		return "begins with /: paths are relative"
	case strings.HasSuffix(path, "/"):
		return "ends with /"
	case strings.ContainsRune(path, '\\'):
		return "holds a backslash"
	case strings.ContainsFunc(path, unicode.IsControl):
		return "holds a control character"
	}
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "":
			return "has nothing between two /"
		case segment == "." || segment == "..":
			return "has the part " + segment
		case len(segment) > maxSegment:
			return fmt.Sprintf("has a part of more than %d bytes", maxSegment)
		}
	}
	return ""
}

// checkLibraries holds the rules about the libraries that a version names: no list approves any yet.
func checkLibraries(libraries []*LibraryInput) error {
	const at = "input.packages"
	if len(libraries) > maxLibraries {
		return fault.Plain(fault.TooLarge, at, "%s has more than %d packages", at, maxLibraries)
	}
	var faults []error
	seen := map[LibraryInput]int{}
	for i, l := range libraries {
		path := fmt.Sprintf("%s.%d", at, i)
		before, repeats := seen[*l]
		malformed := errors.Join(text.Short(path+".name", l.Name, maxLibraryName), text.Short(path+".version", l.Version, maxLibraryVersion))
		switch {
		case malformed != nil:
			faults = append(faults, malformed)
		case repeats:
			faults = append(faults, fault.Plain(fault.Invalid, path, "%s repeats %s.%d", path, at, before))
		default:
			seen[*l] = i
			faults = append(faults, notApproved(path, l))
		}
	}
	return errors.Join(faults...)
}

// notApproved is the refusal of a library (S2-pkgs).
func notApproved(path string, l *LibraryInput) error {
	name := l.Name + " " + l.Version
	return &fault.PackageNotApproved{Detail: fault.NewDetail(fault.NotApproved, path, "%s: no list approves %s", path, name), Package: name}
}

func checkTimeout(seconds *int) error {
	const at = "input.timeoutSeconds"
	if seconds != nil && (*seconds < 1 || *seconds > maxTimeout) {
		return fault.Plain(fault.Invalid, at, "%s must be from 1 to %d", at, maxTimeout)
	}
	return nil
}

// checkLabels holds the rules about labels.
func checkLabels(at string, labels []*Label) error {
	if len(labels) > MaxLabels {
		return fault.Plain(fault.TooLarge, at, "%s has more than %d labels", at, MaxLabels)
	}
	var faults []error
	first := map[string]int{}
	for i, l := range labels {
		path := fmt.Sprintf("%s.%d", at, i)
		faults = append(faults, text.Short(path+".name", l.Name, maxLabelName), text.Storable(path+".value", l.Value))
		if utf8.RuneCountInString(l.Value) > maxLabelValue {
			faults = append(faults, fault.Plain(fault.Invalid, path+".value", "%s.value is longer than %d characters", path, maxLabelValue))
		}
		if before, ok := first[l.Name]; ok {
			faults = append(faults, fault.Plain(fault.Invalid, path+".name", "%s.name repeats that of %s.%d", path, at, before))
			continue
		}
		first[l.Name] = i
	}
	return errors.Join(faults...)
}

// checkMetadata holds the rule about metadata; nil is none.
func checkMetadata(metadata json.RawMessage) error {
	const at = "input.metadata"
	switch {
	case metadata == nil:
		return nil
	case len(metadata) > maxMetadata:
		return fault.Plain(fault.TooLarge, at, "%s is larger than %d bytes", at, maxMetadata)
	case !json.Valid(metadata) || bytes.TrimLeft(metadata, " \t\r\n")[0] != '{':
		return fault.Plain(fault.Invalid, at, "%s must be a JSON object", at)
	}
	return nil
}

// manifestHash is the sourceHash of a package: the SHA-256 of its manifest. The files are sorted by path. The manifest is what sha256sum
// prints in the package's folder, so that everybody can compare; no path has a character that sha256sum would escape.
func manifestHash(files []*VersionFile) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s  %s\n", f.SHA256, f.Path)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// sameJSON compares two JSON values by their tokens; nil is a value of its own.
func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return bytes.Equal(compact(a), compact(b))
}

// compact takes the white space between tokens out of a valid JSON value.
func compact(raw json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}
