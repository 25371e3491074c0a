package runner_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// Files: a root that cannot be written, three folders of the computer's own, and nothing of the host's.
func TestContainFiles(t *testing.T) {
	t.Parallel()
	contain(t, 1, runner.Spec{}, append(hostFiles(), append(mountsAndDevices(), managedFiles()...)...))
}

// What is large in number, depth or name stops at a limit or goes on, and can be removed again.
func TestContainTrees(t *testing.T) {
	t.Parallel()
	contain(t, 2, runner.Spec{}, []attempt{
		{name: "a deep tree", ends: ending{most: 30 * time.Second}, program: `
fd = os.open("/workspace", os.O_RDONLY)
for i in range(10000):
    os.mkdir("tree", dir_fd=fd)
    down = os.open("tree", os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = down
os.close(os.open("file", os.O_CREAT, dir_fd=fd))
os.fchdir(fd)
print(len(os.getcwd()))
`, says: "50010\n", check: removes("/workspace/tree", 55*time.Second)},
		{name: "deep trees under a name of the init's", program: `
for top in "/workspace/.scriptorium-new", "/workspace/.scriptorium-new/.deep-1":
    os.mkdir(top)
    fd = os.open(top, os.O_RDONLY)
    for i in range(1000):
        os.mkdir("tree", dir_fd=fd)
        down = os.open("tree", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = down
    os.close(fd)
open("/workspace/there", "w").close()
`, check: func(t *testing.T, s *scene, _ ended) {
			if _, err := s.computer.Files(t.Context(), []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/there", Mode: 0o444, Content: []byte("x")}}); err != nil {
				t.Error(err)
			}
			if _, out := runnertest.Run(t, s.computer, runnertest.Python("import os\nprint(os.path.lexists('/workspace/.scriptorium-new'), os.path.getsize('/workspace/there'), len(os.listdir('/proc/self/fd')))\n")); out.Stdout.String() != "False 1 4\n" {
				t.Errorf("%s%s", out.Stdout.String(), out.Stderr.String())
			}
		}},
		{name: "long names", program: `
tries("255", lambda: open("n" * 255, "w").close())
for n, f in (("file", lambda p: open(p, "w")), ("folder", os.mkdir), ("FIFO", os.mkfifo), ("link", lambda p: os.symlink("x", p)), ("rename", lambda p: os.rename("n" * 255, p)), ("open", open)):
    tries(n, f, "n" * 300)
tries("path", open, "/workspace/" + "d/" * 3000)
tries("target", os.symlink, "x" * 5000, "link")
for n in "new\nline", b"\xff\xfe", "\u202e\u0301", "-rf", ".scriptorium-new": open(n, "w").close()
`, says: "255 None\nfile ENAMETOOLONG\nfolder ENAMETOOLONG\nFIFO ENAMETOOLONG\nlink ENAMETOOLONG\nrename ENAMETOOLONG\nopen ENAMETOOLONG\npath ENAMETOOLONG\ntarget ENAMETOOLONG\n",
			check: func(t *testing.T, s *scene, _ ended) {
				changes := []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/" + strings.Repeat("n", 255), Mode: 0o444, Content: []byte("x")}}
				for _, n := range []string{strings.Repeat("n", 255), "new\nline", "\xff\xfe", "\u202e\u0301", "-rf", ".scriptorium-new"} {
					changes = append(changes, runner.FileChange{Op: runner.FileRemove, Path: "/workspace/" + n})
				}
				if _, err := s.computer.Files(t.Context(), changes); err != nil {
					t.Error(err)
				}
			}},
		{name: "a million empty files", timeout: 2 * time.Second, program: `
os.mkdir("/workspace/many")
os.chdir("/workspace/many")
for n in range(1000000):
    os.close(os.open(str(n), os.O_CREAT | os.O_WRONLY))
    if n == 999: print("a thousand")
`, says: "a thousand\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM", most: 8 * time.Second}, check: removes("/workspace/many", 55*time.Second)},
	})
}

func hostFiles() []attempt {
	return []attempt{
		{name: "paths of the host", program: `
for p in HOST["file"], HOST["folder"], "/etc/shadow", "/etc/machine-id", "/boot", "/lost+found", "/var/log", "/var/run/docker.sock", "/run/containerd":
    tries(p if "/host" not in p else "planted", os.stat, p)
for d in "/root", "/home", "/run", "/mnt", "/media", "/srv", "/opt", "/var/lib/docker", "/var/tmp":
    if os.path.exists(d): print(d, os.listdir(d)) if os.listdir(d) else None
tries("by the init's root", os.stat, "/proc/1/root" + HOST["file"])
tries("by the own root", os.stat, "/proc/self/root" + HOST["file"])
tries("above the root", os.stat, "/" + "../" * 50 + HOST["file"])
tries("from a descriptor", lambda: os.stat("." * 2 + HOST["file"], dir_fd=os.open("/", os.O_PATH)))
os.symlink(HOST["file"], "/tmp/link")
tries("by a link", open, "/tmp/link")
tries("a hard link", os.link, HOST["file"], "/tmp/hard")
os.unlink("/tmp/link")
`, says: strings.ReplaceAll("planted planted /etc/shadow /etc/machine-id /boot /lost+found /var/log /var/run/docker.sock /run/containerd ", " ", " ENOENT\n") +
			"by the init's root EACCES\nby the own root ENOENT\nabove the root ENOENT\nfrom a descriptor ENOENT\nby a link ENOENT\na hard link ENOENT\n"},
		{name: "the state folder", program: `
tries("state", os.stat, HOST["state"])
tries("by the init's root", os.listdir, "/proc/1/root" + HOST["state"])
`, says: "state ENOENT\nby the init's root EACCES\n"},
		{name: "another computer's", program: `
for p in "/workspace/neighbour", "/tmp/neighbour", "/dev/shm/neighbour", "/tmp/neighbour.socket": tries(p, os.stat, p)
tries("service", socket.create_connection, ("127.0.0.1", 4242), 3)
for a in "\0neighbour", "/tmp/neighbour.socket": tries(repr(a), socket.socket(socket.AF_UNIX).connect, a)
tries("segment", system, "shmget", 4242, 4096, 0)
tries("processes", lambda: [p for p in os.listdir("/proc") if p.isdigit() and p not in ("1", str(os.getpid()))])
`, says: "/workspace/neighbour ENOENT\n/tmp/neighbour ENOENT\n/dev/shm/neighbour ENOENT\n/tmp/neighbour.socket ENOENT\nservice ECONNREFUSED\n" +
			"'\\x00neighbour' ECONNREFUSED\n'/tmp/neighbour.socket' ENOENT\nsegment ENOENT\nprocesses []\n"},
		{name: "writing the root", program: `
before = sorted(os.listdir("/")), os.stat("/usr/bin/python3")
for p in "/x", "/usr/x", "/usr/bin/python3", "/etc/x", "/bin/sh", "/home/x", "/lib/x", "/.scriptorium/x":
    try: open(p, "w").close(); print("wrote", p)
    except OSError as e:
        if e.errno not in (errno.EROFS, errno.EACCES, errno.ENOENT): print(p, e)
for f in lambda: os.chmod("/usr", 0o777), lambda: os.chown("/usr/bin/python3", 1000, 1000), lambda: os.unlink("/usr/bin/python3"), \
        lambda: os.rename("/usr", "/usr2"), lambda: os.mkdir("/var"), lambda: os.utime("/usr/bin/python3", (0, 0)), lambda: os.symlink("/tmp", "/x"), \
        lambda: os.setxattr("/usr/bin/python3", "user.x", b"x"), lambda: os.truncate("/usr/bin/python3", 0), lambda: os.link("/usr/bin/python3", "/workspace/python3"):
    try: f(); print("could")
    except OSError: pass
print((sorted(os.listdir("/")), os.stat("/usr/bin/python3")) == before)
`, says: "True\n"},
		{name: "reading the root", program: `
secret = ("shadow", "gshadow", "sudoers", "ssh", "ssl/private", "machine-id", "krb5.keytab", "environment", "fstab", "crypttab", "docker", "kubernetes", "systemd", "cron.d")
print([n for n in secret if os.path.exists("/etc/" + n)])
if os.path.exists("/etc/passwd"): print([l for l in open("/etc/passwd") if l.split(":")[0] not in ("root", "nobody", "script")], file=sys.stderr)
for d, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if d != "/" or f not in ("proc", "sys", "dev", "usr")]
    for p in (d + "/" + f for f in files):
        if os.path.isfile(p) and HOST["mark"] in open(p, errors="replace").read() and not p.endswith("/attempt.py"): print("the host's mark is in", p)
`, says: "[]\n", check: func(t *testing.T, _ *scene, e ended) {
			if s := e.output.Stderr.String(); s != "" && s != "[]\n" {
				t.Errorf("users of the host's? %s", s)
			}
		}},
		{name: "/proc", program: `
for p in "mem", "environ", "maps", "exe", "root", "cwd", "fd", "ns", "auxv", "pagemap":
    p = "/proc/1/" + p
    tries(p, os.listdir if os.path.isdir(p) else open, p)
for p in "kcore", "kallsyms", "kmsg", "kpagecount", "sysrq-trigger", "sys/kernel/core_pattern", "sys/kernel/modprobe", "keys", "timer_list", "sched_debug", "1/stack":
    try: open("/proc/" + p); print("opened", p)
    except OSError: pass
for d, _, files in os.walk("/proc/sys"):
    for f in files:
        try: os.close(os.open(d + "/" + f, os.O_WRONLY)); print("may write", d + "/" + f)
        except OSError: pass
for f in "oom_score_adj", "uid_map", "loginuid", "attr/current", "../sysrq-trigger", "../1/oom_score_adj", "../1/comm":
    try: open("/proc/self/" + f, "w").write("0"); print("wrote", f)
    except OSError: pass
print(all(p in ("1", str(os.getpid())) for p in os.listdir("/proc") if p.isdigit()), open("/proc/1/cmdline").read().split("\0")[0].rpartition("/")[2][:7])
`, says: "/proc/1/mem EACCES\n/proc/1/environ EACCES\n/proc/1/maps EACCES\n/proc/1/exe EACCES\n/proc/1/root EACCES\n/proc/1/cwd EACCES\n/proc/1/fd EACCES\n" +
			"/proc/1/ns EACCES\n/proc/1/auxv EACCES\n/proc/1/pagemap ENOENT\nTrue python3\n"},
		{name: "/sys", program: `
for d, folders, files in os.walk("/sys"):
    for p in [d] + [d + "/" + f for f in files]:
        if os.access(p, os.W_OK): print("may write", p)
    for f in files:
        if not (d + "/").startswith("/sys/devices/system/cpu/"): print("of the host?", d + "/" + f)
for p in "/sys/kernel/x", "/sys/fs/cgroup/x": tries(p, os.mkdir, p)
`, says: "/sys/kernel/x EACCES\n/sys/fs/cgroup/x EACCES\n"},
		{name: "/dev", program: `
import stat
print(sorted(n for n in os.listdir("/dev") if stat.S_ISBLK(os.stat("/dev/" + n).st_mode)), [n for n in ("mem", "kmsg", "kvm", "port", "sda", "vda", "loop0", "dm-0", "nvidia0", "accel0", "vsock", "vhost-net", "uinput") if os.path.lexists("/dev/" + n)])
for p in "/dev/fuse", "/dev/net/tun": tries(p, lambda: os.close(os.open(p, os.O_RDWR)))
tries("write", open, "/dev/x", "w")
tries("chmod", os.chmod, "/dev/null", 0)
tries("unlink", os.unlink, "/dev/null")
tries("tun", lambda: __import__("fcntl").ioctl(os.open("/dev/net/tun", os.O_RDWR), 0x400454ca, b"tun0" + bytes(12) + b"\1\0" + bytes(22)))
print(os.read(os.open("/dev/zero", os.O_RDONLY), 2), len(os.listdir("/dev/pts")))
`, says: "[] []\n/dev/fuse None\n/dev/net/tun None\nwrite EACCES\nchmod EPERM\nunlink EACCES\ntun EPERM\nb'\\x00\\x00' 1\n"},
	}
}

func mountsAndDevices() []attempt {
	return []attempt{
		{name: "mounts", program: `
tries("tmpfs", mount, b"x", b"/tmp", b"tmpfs")
tries("bind", mount, b"/usr", b"/tmp", None, 4096)
tries("remount", mount, None, b"/", None, 32)
tries("proc", mount, b"proc", b"/tmp", b"proc")
tries("9p", mount, b"x", b"/tmp", b"9p", 0, b"trans=fd,rfdno=3,wfdno=3")
tries("umount", system, "umount2", b"/proc", 0)
tries("umount workspace", system, "umount2", b"/workspace", 2)
tries("pivot_root", pivot_root, b"/tmp", b"/tmp")
tries("chroot", os.chroot, "/tmp")
for n, f in (("mounts", MOUNTS), ("net", NET), ("pids", PIDS)): tries(n, unshare, f)
for n in "mnt", "net", "pid": tries("the init's " + n, lambda: system("setns", os.open("/proc/1/ns/" + n, os.O_RDONLY), 0))
`, says: "tmpfs EPERM\nbind EPERM\nremount EPERM\nproc EPERM\n9p EPERM\numount EPERM\numount workspace EPERM\npivot_root EPERM\nchroot EPERM\n" +
			"mounts EPERM\nnet EPERM\npids EPERM\nthe init's mnt EPERM\nthe init's net EPERM\nthe init's pid EPERM\n"},
		// gVisor lets everybody make a user namespace. Its root is nobody to all that was there before.
		{name: "root of a user namespace", program: `
print(as_root_of_its_own('''
print(os.getuid(), os.stat("/workspace/main.py").st_uid, os.stat("/usr").st_uid)
for p in "/workspace/main.py", "/usr/x", "/home/x", "/proc/1/mem", "/proc/1/oom_score_adj", "/proc/sys/kernel/hostname": tries(p, open, p, "r+b")
tries("chmod", os.chmod, "/workspace/main.py", 0o777)
tries("chown", os.chown, "/workspace/main.py", 0, 0)
tries("unlink", os.unlink, "/workspace/main.py")
tries("mknod", os.mknod, "/workspace/null", 0o20666, os.makedev(1, 3))
tries("kill", os.kill, 1, 9)
tries("remount", mount, None, b"/", None, 32)
tries("umount", system, "umount2", b"/usr", 0)
tries("9p", mount, b"x", b"/tmp", b"9p", 0, b"trans=fd,rfdno=3,wfdno=3")
tries("erofs", mount, b"x", b"/tmp", b"erofs", 0, b"ifd=3")
tries("over /usr", mount, b"x", b"/usr", b"tmpfs")
tries("over /workspace", mount, b"x", b"/workspace", b"tmpfs")
print(os.listdir("/usr"))
tries("chroot", os.chroot, "/tmp")
tries("host", os.stat, HOST["file"])
'''))
print(os.path.isdir("/usr/bin"), os.path.isfile("main.py"), os.stat("/workspace/main.py").st_uid)
`, says: "0 65534 65534\n/workspace/main.py EACCES\n/usr/x ENOENT\n/home/x ENOENT\n/proc/1/mem EACCES\n/proc/1/oom_score_adj EACCES\n" +
			"/proc/sys/kernel/hostname EACCES\nchmod EPERM\nchown EPERM\nunlink EPERM\nmknod EPERM\nkill EPERM\nremount EPERM\numount EINVAL\n9p ENODEV\nerofs ENODEV\n" +
			"over /usr None\nover /workspace None\n[]\nchroot None\nhost ENOENT\n0\nTrue True 0\n"},
		{name: "device nodes", program: `
for n, m, d in (("memory", 0o20666, (1, 1)), ("null", 0o20666, (1, 3)), ("disk", 0o60666, (8, 0)), ("fuse", 0o20666, (10, 229))):
    for p in "/workspace/", "/tmp/": tries(p + n, os.mknod, p + n, m, os.makedev(*d))
`, says: "/workspace/memory EPERM\n/tmp/memory EPERM\n/workspace/null EPERM\n/tmp/null EPERM\n/workspace/disk EPERM\n/tmp/disk EPERM\n/workspace/fuse EPERM\n/tmp/fuse EPERM\n"},
		{name: "setuid bits", program: `
import shutil
shutil.copy("/usr/bin/id", "/workspace/id")
os.chmod("/workspace/id", 0o6755)
print(oct(os.stat("/workspace/id").st_mode), subprocess.check_output(["/workspace/id", "-u"]))
tries("chown", os.chown, "/workspace/id", 0, 0)
for f in os.setuid, os.setgid, os.seteuid: tries(f.__name__, f, 0)
tries("groups", os.setgroups, [0])
for n in "su", "mount", "umount", "passwd", "newgrp", "chsh":  # where the root has them
    if os.path.exists("/usr/bin/" + n):
        pid = subprocess.Popen(["/usr/bin/" + n, "--version"], stdin=-3, stdout=-3, stderr=-3)
        pid.wait()
caps = {l.split(":")[0]: l.split()[1] for l in open("/proc/self/status") if l[:3] == "Cap" or l[:5] == "NoNew"}
print(caps["CapEff"], caps["CapPrm"], caps["CapInh"], caps["NoNewPrivs"])
print(subprocess.check_output(["sh", "-c", "grep CapEff /proc/self/status"]))
os.unlink("/workspace/id")
`, says: "0o106755 b'1000\\n'\nchown EPERM\nsetuid EPERM\nsetgid EPERM\nseteuid EPERM\ngroups EPERM\n" +
			"0000000000000000 0000000000000000 0000000000000000 1\nb'CapEff:\\t0000000000000000\\n'\n"},
	}
}

func managedFiles() []attempt {
	home := func(c *runner.Call) {
		c.Files = append(c.Files,
			runner.FileChange{Op: runner.FileMkdir, Path: "/home/agent", Mode: 0o1777}, runner.FileChange{Op: runner.FileMkdir, Path: "/home/agent/scripts", Mode: 0o1777},
			runner.FileChange{Op: runner.FileWrite, Path: "/home/agent/scripts/a.py", Mode: 0o444, Content: []byte("print('version 1')\n")})
		c.Dir, c.Argv = "/home/agent", []string{"python3", "/workspace/main.py"}
	}
	return []attempt{
		{name: "a version rewritten under it", with: home, program: `
p = "scripts/a.py"
open("mine", "w").write("print('mine')")
os.mkdir("folder")
for f in lambda: open(p, "w"), lambda: open(p, "a"), lambda: os.truncate(p, 0), lambda: os.unlink(p), lambda: os.rename("mine", p), lambda: os.rename(p, "b"), \
        lambda: os.chmod(p, 0o666), lambda: os.chown(p, 1000, 1000), lambda: os.rename("scripts", "scripts2"), lambda: os.rename("folder", "scripts"), \
        lambda: os.rmdir("scripts"), lambda: os.chmod("scripts", 0o777), lambda: os.rename("/home/agent", "/home/other"), lambda: os.utime(p, (0, 0)), \
        lambda: os.symlink("mine", p), lambda: os.mkfifo(p), lambda: open("/workspace/main.py", "w"), lambda: os.rename("mine", "/workspace/main.py"):
    try: f(); print("could")
    except OSError as e: pass
fd = os.open(p, os.O_RDONLY)
tries("descriptor", os.fchmod, fd, 0o666)
tries("by its descriptor", open, "/proc/self/fd/%d" % fd, "w")
tries("mapped", lambda: __import__("mmap").mmap(fd, 0))
print(as_root_of_its_own("mount(b'x', b'/home', b'tmpfs')\nos.makedirs('/home/agent/scripts')\nopen('/home/agent/scripts/a.py', 'w').write('print(2)')\nprint(open('/home/agent/scripts/a.py').read())"))
`, says: "descriptor EPERM\nby its descriptor EACCES\nmapped EACCES\nprint(2)\n0\n", check: func(t *testing.T, s *scene, _ ended) {
			call := runnertest.Python("")
			call.Argv, call.Dir = []string{"python3", "scripts/a.py"}, "/home/agent"
			if _, out := runnertest.Run(t, s.computer, call); out.Stdout.String() != "version 1\n" {
				t.Errorf("the version's next call: %q %s", out.Stdout.String(), out.Stderr.String())
			}
		}},
		{name: "links and FIFOs where files go", program: plant, check: changesWherePlanted},
		{name: "a folder where a managed one goes", program: "os.mkdir('/workspace/managed')\nopen('/workspace/managed/x', 'w')\nos.chmod('/workspace/managed', 0)\n", check: folderWherePlanted},
	}
}

// plant makes everything that could stand in a file's way, as a program.
const plant = `
os.makedirs("/workspace/d/in/ner"); os.chmod("/workspace/d/in", 0); os.chmod("/workspace/d", 0)
os.symlink("/workspace/outside", "/workspace/link")
os.symlink("/home", "/workspace/linkdir")
os.symlink(HOST["file"], "/workspace/hostlink")
os.symlink(HOST["folder"], "/workspace/hostfolder")
os.mkfifo("/workspace/fifo")
os.mkdir("/workspace/outdir", 0o777); os.symlink("/workspace/outdir", "/workspace/parent")
os.mkfifo("/workspace/.scriptorium-new")
s = socket.socket(socket.AF_UNIX); s.bind("/workspace/socket")
open("/workspace/outside", "w").write("untouched")
os.link("/workspace/outside", "/workspace/second")
open("/workspace/sparse", "w").truncate(1 << 27)
p = "/workspace/deep"
for i in range(600):
    os.mkdir(p); os.chdir(p); p = "d"
`

// changesWherePlanted makes changes at every place of plant: nothing is followed, nothing waits, and what was asked for is there.
func changesWherePlanted(t *testing.T, s *scene, _ ended) {
	t.Helper()
	readWherePlanted(t, s)
	var changes []runner.FileChange
	for _, p := range []string{"d", "link", "linkdir", "hostlink", "hostfolder/file", "fifo", "socket", "parent/f", "deep"} {
		changes = append(changes, runner.FileChange{Op: runner.FileWrite, Path: "/workspace/" + p, Mode: 0o444, Content: []byte("managed " + p)})
	}
	if _, err := s.computer.Files(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	res, out := runnertest.Run(t, s.computer, runnertest.Python(`import os, stat
for n in ("d", "link", "linkdir", "hostlink", "hostfolder/file", "fifo", "socket", "parent/f", "deep", "outside"):
    p = "/workspace/" + n
    st = os.lstat(p)
    print(n, stat.S_ISREG(st.st_mode), st.st_uid, open(p).read())
print(os.listdir("/workspace/outdir"), os.path.exists("/home/f"), os.path.lexists("/workspace/.scriptorium-new"))
`))
	want := `d True 0 managed d
link True 0 managed link
linkdir True 0 managed linkdir
hostlink True 0 managed hostlink
hostfolder/file True 0 managed hostfolder/file
fifo True 0 managed fifo
socket True 0 managed socket
parent/f True 0 managed parent/f
deep True 0 managed deep
outside True 1000 untouched
[] False False
`
	if out.Stdout.String() != want {
		t.Errorf("%+v\n%s%s", res, out.Stdout.String(), out.Stderr.String())
	}
}

// readWherePlanted reads all of it: links are told and not followed, and nothing but files is opened.
func readWherePlanted(t *testing.T, s *scene) {
	t.Helper()
	var list []string
	deepest := 0
	rep, err := s.computer.Read(t.Context(), runner.Read{Path: "/workspace", Recursive: true, MaxEntries: 1000, MaxFiles: 100, MaxFileBytes: 1 << 20, MaxBytes: 1 << 20},
		func(e runner.Entry, content io.Reader) error {
			if depth := strings.Count(e.Path, "/"); strings.HasPrefix(e.Path, "deep/") {
				deepest = max(deepest, depth)
				return nil
			}
			text := "-"
			if content != nil && e.Path != "main.py" && e.Path != "attempt.py" {
				b, err := io.ReadAll(content)
				if err != nil {
					return err
				}
				text = fmt.Sprintf("%.100q", b)
			}
			list = append(list, fmt.Sprintln(e.Type, strings.ReplaceAll(e.Path+" "+e.Target, s.host.folder, "HOST"), text))
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(list, ""); got != readOfPlanted || !rep.Truncated || deepest > 64 {
		t.Errorf("it read, to a depth of %d, %+v\n%s", deepest, rep, got)
	}
	// A folder through a link is none.
	for _, p := range []string{"/workspace/hostfolder", "/workspace/linkdir", "/workspace/parent", "/workspace/fifo"} {
		rep, err := s.computer.Read(t.Context(), runner.Read{Path: p, MaxEntries: 10}, func(e runner.Entry, _ io.Reader) error {
			t.Errorf("%s has %+v", p, e)
			return nil
		})
		if err == nil && rep.Entries > 0 {
			t.Errorf("%s: %+v", p, rep)
		}
	}
}

const readOfPlanted = `2 .calls  -
4 .scriptorium-new  -
1 attempt.py  -
2 d  -
2 d/in  -
2 d/in/ner  -
2 deep  -
4 fifo  -
3 hostfolder HOST -
3 hostlink HOST/file -
3 link /workspace/outside -
3 linkdir /home -
1 main.py  -
2 outdir  -
1 outside  "untouched"
3 parent /workspace/outdir -
1 second  "untouched"
4 socket  -
1 sparse  -
`

// A folder of a program's that stands where a managed folder belongs becomes root's.
func folderWherePlanted(t *testing.T, s *scene, _ ended) {
	t.Helper()
	if _, err := s.computer.Files(t.Context(), []runner.FileChange{{Op: runner.FileMkdir, Path: "/workspace/managed", Mode: 0o755}}); err != nil {
		t.Fatal(err)
	}
	_, out := runnertest.Run(t, s.computer, runnertest.Python("import os\nst = os.stat('/workspace/managed')\nprint(st.st_uid, oct(st.st_mode))\ntry: open('/workspace/managed/y', 'w')\nexcept OSError as e: print(e.strerror)\n"))
	if out.Stdout.String() != "0 0o40755\nPermission denied\n" {
		t.Errorf("%q", out.Stdout.String())
	}
}

// removes is a check that what a program made can be removed, in bounded time.
func removes(path string, most time.Duration) func(*testing.T, *scene, ended) {
	return func(t *testing.T, s *scene, _ ended) {
		t.Helper()
		began := time.Now()
		if _, err := s.computer.Files(t.Context(), []runner.FileChange{{Op: runner.FileRemove, Path: path}}); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d > most {
			t.Errorf("removing %s took %s", path, d)
		}
	}
}
