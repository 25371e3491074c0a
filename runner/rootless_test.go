package runner_test

import (
	"bytes"
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
	copied := func(from, name string) string {
		t.Helper()
		to := filepath.Join(dir, name)
		copyFile(t, from, to)
		return to
	}
	test, binary := copied("/proc/self/exe", "test"), copied(runsc(t), "runsc")
	for _, d := range []string{"", "tmp"} {
		d = filepath.Join(dir, d)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	run := func(tests, passes, image string) {
		t.Helper()
		cmd := exec.Command(test, "-test.timeout=5m", "-test.v", "-test.run=^("+tests+")$")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + filepath.Join(dir, "tmp"), "SCRIPTORIUM_RUNSC=" + binary, "SCRIPTORIUM_IMAGE=" + image}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: "+passes)) {
			t.Errorf("%v\n%s", err, out)
		}
	}
	run("TestSuite|TestContain(Network|Listeners|Files|Secrets|MemoryInFiles|MemoryBesidePages)|TestCloseLeavesNothing|TestContainRunnerKilled|TestUsageThatIsHidden", "TestSuite", "")
	if image() != "" {
		run("TestImageStays|TestContainMemoryBesidePages", "TestImageStays", copied(image(), "computer.erofs"))
	}
}
