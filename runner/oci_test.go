package runner

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// The sandbox's configuration is held by golden files; see them for what a program can reach.
func TestOCIConfig(t *testing.T) {
	t.Parallel()
	merged := root{Binds: []string{"/usr"}, Links: map[string]string{"/bin": "usr/bin", "/lib": "usr/lib"}, Python: "/usr/bin/python3"}
	split := root{Binds: []string{"/usr", "/bin", "/lib", "/lib64"}, Python: "/usr/local/bin/python3"}
	for name, c := range map[string]struct {
		spec Spec
		root root
	}{
		"default": {Spec{ID: "run_1"}, merged},
		"small":   {Spec{ID: "run_2", MemoryBytes: 128 << 20, WorkspaceBytes: 1 << 20, HomeBytes: 2 << 20, TmpBytes: 3 << 20, Processes: 8}, split},
		"image":   {Spec{ID: "run_3"}, root{Image: "/srv/computer.erofs", Python: "/usr/bin/python3"}},
	} {
		got, err := json.MarshalIndent(ociConfig(c.spec.withDefaults(), c.root, "/state/s1/rootfs"), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		file := filepath.Join("testdata", "oci_"+name+".json")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is made now (run with -update, then read the difference):\n%s", file, got)
		}
		for _, no := range []string{`"/etc`, `"/root`, `"/home/`, `"rw"`, "CAP_SYS"} {
			if bytes.Contains(got, []byte(no)) {
				t.Errorf("%s: a sandbox must not have %s", name, no)
			}
		}
	}
}

// The host's root has what an interpreter needs, and nothing that tells of the host.
func TestHostRoot(t *testing.T) {
	t.Parallel()
	r, err := readHostRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Binds {
		if b != "/usr" && b != "/bin" && b != "/lib" && b != "/lib64" && b != "/sbin" {
			t.Errorf("%s is bound", b)
		}
	}
	for l, target := range r.Links {
		if !strings.HasPrefix(filepath.Join("/", target), "/usr/") {
			t.Errorf("%s leads to %s", l, target)
		}
	}
	if _, err := readHostRoot("/nowhere/python3"); err == nil {
		t.Error("there is no interpreter, and no error")
	}
}

func FuzzInitWords(f *testing.F) {
	for _, s := range []string{"x7 256 1000 16000 0", "x7 9 0 0 1", "x", "", "x1 2 3 4 5 6", "x1 2 3 4 5 6 1", "e0 1 No space left on device", "e-1 0 x", "e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := &hosted{sandbox: &sandbox{}}
		e := &execution{c: c}
		if r := e.result(s); (r.Result == nil) == (r.Fault == faultNone) {
			t.Errorf("%q: %+v", s, r)
		}
		if s != "" {
			if r := fileFault(s); r.Fault == faultNone {
				t.Errorf("%q: %+v", s, r)
			}
		}
		unescapeMount(s)
	})
}
