// Package image_test looks into the image that `make image` built, as gVisor reads it, and tries the script that builds it.
package image_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gvisor.dev/gvisor/pkg/erofs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// library is a library in the manifest.
type library struct {
	Ecosystem, Name, Version string
}

// manifest is bin/computer.json.
type manifest struct {
	Digest, Inputs, Added, Release string
	Size                           int64
	Runtimes                       []string
	Libraries                      []library
	Packages                       []struct{ Name, Version string }
	LeftOut                        []string `json:"left_out"`
}

// built is the image and its manifest, without which no test here means anything.
func built(t *testing.T) (*os.File, manifest) {
	t.Helper()
	text, err := os.ReadFile("../bin/computer.json")
	if err != nil {
		t.Fatalf("The computers' image has not been built: run make image (%v).", err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("../bin/computer.erofs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, m
}

// tree is everything in the image by its path, without the leading slash; the root is "".
func tree(t *testing.T, f *os.File) map[string]erofs.Inode {
	t.Helper()
	img, err := erofs.OpenImage(f)
	if err != nil {
		t.Fatalf("gVisor does not read the image: %v", err)
	}
	t.Cleanup(img.Close)
	all := map[string]erofs.Inode{}
	var walk func(name string, nid uint64)
	walk = func(name string, nid uint64) {
		i, err := img.Inode(nid)
		if err != nil {
			t.Fatalf("/%s: %v", name, err)
		}
		all[name] = i
		if !i.IsDir() {
			return
		}
		err = i.IterDirents(func(child string, _ uint8, nid uint64) error {
			if child != "." && child != ".." {
				walk(path.Join(name, child), nid)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("/%s: %v", name, err)
		}
	}
	walk("", img.RootNid())
	return all
}

// content is what a file of the image holds; links in the last place are followed.
func content(t *testing.T, all map[string]erofs.Inode, name string) string {
	t.Helper()
	i, ok := all[name]
	for range 8 {
		if !ok || !i.IsSymlink() {
			break
		}
		to, err := i.Readlink()
		if err != nil {
			t.Fatalf("/%s: %v", name, err)
		}
		if !path.IsAbs(to) {
			to = path.Join("/", path.Dir(name), to)
		}
		name = strings.TrimPrefix(to, "/")
		i, ok = all[name]
	}
	if !ok || !i.IsRegular() {
		t.Fatalf("the image has no file /%s", name)
	}
	ranges, err := i.DataRanges()
	if err != nil {
		t.Fatalf("/%s: %v", name, err)
	}
	return string(ranges[0].Bytes) + string(ranges[1].Bytes)
}

func TestManifestIsOfTheImage(t *testing.T) {
	t.Parallel()
	f, m := built(t)
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		t.Fatal(err)
	}
	if got := "sha256:" + hex.EncodeToString(h.Sum(nil)); got != m.Digest || size != m.Size {
		t.Errorf("the image is %s with %d bytes; its manifest says %s with %d", got, size, m.Digest, m.Size)
	}
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(m.Inputs) || m.Release == "" {
		t.Errorf("inputs %q, release %q", m.Inputs, m.Release)
	}
	for i, runtime := range []string{`python3 3\.\d+\.\d+`, `node \d+\.\d+\.\d+`, `glibc 2\.\d+`} {
		if len(m.Runtimes) != 3 || !regexp.MustCompile("^"+runtime+"$").MatchString(m.Runtimes[i]) {
			t.Fatalf("runtimes are %q", m.Runtimes)
		}
	}
}

// TestManifestNamesWhatIsInTheImage holds the manifest against the files, both ways for packages.
func TestManifestNamesWhatIsInTheImage(t *testing.T) {
	t.Parallel()
	f, m := built(t)
	all := tree(t, f)
	var want, got []string
	for _, p := range m.Packages {
		want = append(want, p.Name+" "+p.Version)
	}
	fields := regexp.MustCompile(`(?m)^Package: (.*)\n(?:.+\n)*?Version: (.*)$`)
	for _, p := range fields.FindAllStringSubmatch(content(t, all, "var/lib/dpkg/status"), -1) {
		got = append(got, p[1]+" "+p[2])
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(got) == 0 || !slices.Equal(got, want) {
		t.Errorf("packages in the image: %q; in the manifest: %q", got, want)
	}
	for _, name := range m.LeftOut {
		if slices.ContainsFunc(m.Packages, func(p struct{ Name, Version string }) bool { return p.Name == name }) {
			t.Errorf("%s is left out and in the image", name)
		}
	}
	if len(m.Libraries) == 0 {
		t.Error("no library in the manifest")
	}
	named := regexp.MustCompile(`[-_.]+`)
	for _, l := range m.Libraries {
		found := false
		for name := range all {
			dir, base := path.Split(name)
			switch l.Ecosystem {
			case "pypi":
				info, _, _ := strings.Cut(strings.ToLower(base), "-")
				found = strings.HasSuffix(dir, "/dist-packages/") && strings.HasSuffix(base, "-info") &&
					named.ReplaceAllString(info, "-") == named.ReplaceAllString(strings.ToLower(l.Name), "-")
			case "npm":
				found = strings.HasSuffix(name, "/"+l.Name+"/package.json") || strings.Contains(dir, "nodejs/") && base == "package.json" &&
					strings.Contains(content(t, all, name), fmt.Sprintf("%q", l.Name))
			}
			if found {
				break
			}
		}
		if !found {
			t.Errorf("%v is in the manifest only", l)
		}
	}
}

// TestNothingInTheImageIsSpecial is about what a program could use against its computer, and about what gVisor could not map.
func TestNothingInTheImageIsSpecial(t *testing.T) {
	t.Parallel()
	f, _ := built(t)
	for name, i := range tree(t, f) {
		if !i.IsRegular() && !i.IsDir() && !i.IsSymlink() {
			t.Errorf("/%s is neither a file, a folder nor a link: mode %o", name, i.Mode())
		}
		if i.UID() != 0 || i.GID() != 0 {
			t.Errorf("/%s is not root's", name)
		}
		if !i.IsSymlink() {
			want := uint16(0)
			if name == "tmp" || name == "var/tmp" {
				want = 0o1022
			}
			if got := i.Mode() & 0o7022; got != want {
				t.Errorf("/%s: setuid, setgid, sticky or writable bits %o, not %o", name, got, want)
			}
		}
		if i.IsRegular() {
			if _, err := i.DataOffset(); err != nil {
				t.Errorf("gVisor cannot map /%s: %v", name, err)
			}
		}
		if i.IsDir() && i.Mode()&0o555 != 0o555 || i.IsRegular() && i.Mode()&0o444 != 0o444 {
			t.Errorf("/%s cannot be read by a script's user: %o", name, i.Mode())
		}
	}
}

func TestWhatComputersCountOn(t *testing.T) {
	t.Parallel()
	f, _ := built(t)
	all := tree(t, f)
	for _, d := range []string{"proc", "dev", "sys", "tmp", "home", "workspace", "etc", ".scriptorium"} {
		if i, ok := all[d]; !ok || !i.IsDir() {
			t.Errorf("no place to mount /%s", d)
		}
	}
	for name, want := range map[string]string{
		"etc/passwd":   "script:x:1000:1000:script:/home:/bin/sh\n",
		"etc/group":    "script:x:1000:\n",
		"etc/hosts":    "127.0.0.1 localhost\n",
		"etc/hostname": "computer\n",
		"etc/timezone": "Etc/UTC\n",
	} {
		if got := content(t, all, name); !strings.Contains("\n"+got, "\n"+want) {
			t.Errorf("/%s is %q", name, got)
		}
	}
	if got := content(t, all, "etc/resolv.conf"); got != "" {
		t.Errorf("/etc/resolv.conf is %q", got)
	}
	for _, name := range []string{"usr/bin/python3", "usr/bin/node", "usr/bin/sh", "usr/bin/cat", "etc/localtime", "etc/ld.so.cache", "etc/mime.types"} {
		content(t, all, name)
	}
	for _, d := range []string{"bin", "lib", "sbin"} {
		i := all[d]
		if to, err := i.Readlink(); err != nil || to != "usr/"+d {
			t.Errorf("/%s leads to %q, %v", d, to, err)
		}
	}
	for _, d := range []string{"usr/share/man", "usr/share/doc", "usr/share/locale", "var/cache", "var/lib/apt", "etc/apt"} {
		if _, ok := all[d]; ok {
			t.Errorf("/%s is in the image", d)
		}
	}
}

// TestInterpretersAreReady: their streams write all (runner/streams.py), and nothing is left to compile.
func TestInterpretersAreReady(t *testing.T) {
	t.Parallel()
	f, _ := built(t)
	all := tree(t, f)
	streams, err := os.ReadFile("../runner/streams.py")
	if err != nil {
		t.Fatal(err)
	}
	standard := regexp.MustCompile(`^usr/lib/(python3\.\d+)/os\.py$`)
	seen := 0
	for name := range all {
		m := standard.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		seen++
		for _, where := range []string{"etc/" + m[1], "usr/lib/" + m[1]} {
			if content(t, all, where+"/sitecustomize.py") != string(streams) {
				t.Errorf("/%s/sitecustomize.py is not runner/streams.py", where)
			}
		}
		tag := ".cpython-" + strings.ReplaceAll(strings.TrimPrefix(m[1], "python"), ".", "") + ".pyc"
		for source := range all {
			dir, base := path.Split(source)
			if !strings.HasSuffix(base, ".py") || !strings.HasPrefix(dir, "usr/lib/"+m[1]+"/") {
				continue
			}
			code := dir + "__pycache__/" + strings.TrimSuffix(base, ".py") + tag
			if _, ok := all[code]; !ok {
				t.Errorf("/%s is not compiled", source)
			} else if b := content(t, all, code); len(b) < 16 || !bytes.Equal([]byte(b[4:8]), []byte{1, 0, 0, 0}) {
				t.Errorf("/%s would be compared with its source, or is no code", code)
			} else if base == "sitecustomize.py" && !strings.Contains(b, "_streams") {
				t.Errorf("/%s is not what runner/streams.py says", code)
			}
		}
	}
	if seen == 0 {
		t.Error("the image has no standard library of Python")
	}
}

// TestUnchangedIsNotBuiltAgain also holds for two at once.
func TestUnchangedIsNotBuiltAgain(t *testing.T) {
	t.Parallel()
	f, m := built(t)
	before, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	first, second := exec.Command("../scripts/image.sh"), exec.Command("../scripts/image.sh")
	var out bytes.Buffer
	second.Stdout, second.Stderr = &out, &out
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := first.CombinedOutput()
	if err = errors.Join(err, second.Wait()); err != nil || len(text) > 0 || out.Len() > 0 {
		t.Fatalf("%v: %s%s", err, text, &out)
	}
	after, err := os.Stat("../bin/computer.erofs")
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the image %s was replaced: %v", m.Digest, err)
	}
}

// place is a copy of what the script needs, with a PATH that holds the named tools of this machine and the fakes only.
func place(t *testing.T, fakes map[string]string) (dir string, run func(env string, args ...string) *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"scripts/image.sh", "image/packages.txt", "image/manifest.py", "runner/streams.py"} {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(text))
	}
	tools := filepath.Join(dir, "tools")
	for _, name := range []string{"bash", "cat", "cut", "dirname", "flock", "grep", "head", "id", "mkdir", "mktemp", "rm", "sed", "sha256sum", "sleep", "stat", "touch", "tr", "uname", "xargs"} {
		at, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		fakes[name] = `exec ` + at + ` "$@"`
	}
	for name, body := range fakes {
		write(t, filepath.Join(tools, name), "#!/bin/bash\n"+body+"\n")
	}
	// The script adds the folders of administration's tools, where this machine may have what is to be missing.
	script := filepath.Join(dir, "scripts/image.sh")
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	write(t, script, strings.Replace(string(text), `PATH="$PATH:/usr/sbin:/sbin"`, "PATH", 1))
	return dir, func(env string, args ...string) *exec.Cmd {
		c := exec.Command("/bin/bash", append([]string{script}, args...)...)
		c.Env = []string{"PATH=" + tools}
		if env != "" {
			c.Env = append(c.Env, env)
		}
		return c
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// left is what lies in the script's bin, the lock aside.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(dir, "bin"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Name() != ".image.lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestWhatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	works := map[string]string{"dpkg": "echo amd64", "dpkg-deb": "exit 1", "mkfs.erofs": "exit 1", "apt-cache": "exit 0"}
	for name, c := range map[string]struct {
		fakes map[string]string
		env   string
		says  string
	}{
		"without apt":           {map[string]string{"mkfs.erofs": "exit 0"}, "", "this machine has no apt."},
		"without root":          {map[string]string{"apt-get": "exit 1", "dpkg-deb": "exit 1", "id": "echo 1000"}, "", "building the image needs erofs-utils: install it, or run make image as root."},
		"not installable":       {map[string]string{"apt-get": "exit 100", "dpkg-deb": "exit 1", "id": "echo 0"}, "", "erofs-utils could not be installed."},
		"no package":            {map[string]string{"apt-get": "exit 100"}, "", "apt did not find or fetch the packages."},
		"an option for a name":  {map[string]string{"apt-get": "exit 0"}, "IMAGE_PACKAGES=python3-numpy -o", "-o is not the name of a package."},
		"a path for a name":     {map[string]string{"apt-get": "exit 0"}, "IMAGE_PACKAGES=./x.deb", "./x.deb is not the name of a package."},
		"packages that are not": {map[string]string{"apt-get": "exit 0"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := c.fakes["id"]
			if _, bare := c.fakes["mkfs.erofs"]; !bare && id == "" {
				for k, v := range works {
					c.fakes[k] = v
				}
			}
			dir, run := place(t, c.fakes)
			if id != "" {
				write(t, filepath.Join(dir, "tools/id"), "#!/bin/bash\n"+id+"\n")
			}
			text, err := run(c.env).CombinedOutput()
			if err == nil || !strings.Contains(string(text), c.says) {
				t.Errorf("%v: %s", err, text)
			}
			if names := left(t, dir); len(names) > 0 {
				t.Errorf("left behind: %q", names)
			}
			text, err = run(c.env, "--soft").CombinedOutput()
			if err != nil || !strings.Contains(string(text), c.says) || !strings.Contains(string(text), "Computers will use this machine's own /usr, read-only") {
				t.Errorf("softly: %v: %s", err, text)
			}
		})
	}
}

// TestInterruptedBuildLeavesNothing ends a build while apt works, first so that it can clear up, then so that it cannot.
func TestInterruptedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, run := place(t, map[string]string{"dpkg": "echo amd64", "dpkg-deb": "exit 1", "mkfs.erofs": "exit 1", "apt-cache": "exit 0",
		"apt-get": `[ -e "${0%/*}/../go" ] && exit 100; touch "${0%/*}/../at"; exec sleep 60`})
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		c := run("")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, filepath.Join(dir, "at"))
		if err := syscall.Kill(-c.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil {
			t.Error("a build that was ended says that it is done")
		}
		if err := os.Remove(filepath.Join(dir, "at")); err != nil {
			t.Fatal(err)
		}
		names := left(t, dir)
		if sig == syscall.SIGTERM && len(names) > 0 || slices.Contains(names, "computer.erofs") || slices.Contains(names, "computer.json") {
			t.Errorf("after %v: %q", sig, names)
		}
	}
	write(t, filepath.Join(dir, "go"), "")
	if text, err := run("").CombinedOutput(); err == nil || len(left(t, dir)) > 0 {
		t.Errorf("the next build did not clear up: %q, %s", left(t, dir), text)
	}
}

func waitFor(t *testing.T, name string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not come", name)
		}
	}
}
