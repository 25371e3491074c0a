package runner_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// The same tests as another user: there are no cgroups then, and all else holds.
func TestRootless(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("this run is as another user already")
		return
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "rootless") // not below t.TempDir, whose parents are closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const nobody = 65534
	copyFile := func(from, name string) string {
		in, err := os.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		to := filepath.Join(dir, name)
		out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return to
	}
	test, binary := copyFile("/proc/self/exe", "test"), copyFile(runsc(t), "runsc")
	for _, d := range []string{"", "tmp"} {
		d = filepath.Join(dir, d)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(test, "-test.timeout=5m", "-test.v", "-test.run=^(TestSuite|TestContain(Network|Listeners|Files|Secrets|MemoryInFiles|MemoryBesidePages)|TestCloseLeavesNothing|TestContainRunnerKilled)$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + filepath.Join(dir, "tmp"), "SCRIPTORIUM_RUNSC=" + binary}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSuite")) {
		t.Errorf("%v\n%s", err, out)
	}
}
