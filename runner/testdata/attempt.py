# What attempts of the containment tests use; HOST, what is to be found on the host, stands above. `from attempt import *` is put before each.
import ctypes, errno, os, platform, resource, signal, socket, subprocess, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)


def tries(what, act, *args):
    """Does something, and prints a line: what came of it, or the name of the error."""
    try:
        got = act(*args)
    except OSError as e:
        got = errno.errorcode.get(e.errno, str(e))
    except Exception as e:
        got = "%s: %s" % (type(e).__name__, e)
    print(what, got, flush=True)


def system(name, *args):
    """A function of the C library, for what Python has none."""
    ctypes.set_errno(0)
    if getattr(libc, name)(*args) == -1:
        raise OSError(ctypes.get_errno(), name)


def mount(source, target, kind, flags=0, data=None):
    system("mount", source, target, kind, flags, data)


def pivot_root(new, old):
    system("syscall", {"x86_64": 155, "aarch64": 41}[platform.machine()], new, old)


USER, MOUNTS, NET, PIDS = 0x10000000, 0x20000, 0x40000000, 0x20000000


def unshare(flags):
    system("unshare", flags)


def as_root_of_its_own(source, *args):
    """Runs a source as root of a user namespace that it makes for itself. A new interpreter: only such a one may write its maps."""
    become = "uid, gid = os.getuid(), os.getgid()\nunshare(USER | MOUNTS | NET)\n" \
        "open('/proc/self/setgroups', 'w').write('deny') if os.path.exists('/proc/self/setgroups') else None\n" \
        "open('/proc/self/uid_map', 'w').write('0 %d 1' % uid)\nopen('/proc/self/gid_map', 'w').write('0 %d 1' % gid)\n"
    code = "import sys\nsys.path.insert(0, '/workspace')\nfrom attempt import *\n" + become + source
    return subprocess.run([sys.executable, "-c", code, *args]).returncode


class _Span(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def memory(pid, at, length):
    """Bytes of a process's memory."""
    buf = ctypes.create_string_buffer(length)
    here, there = _Span(ctypes.cast(buf, ctypes.c_void_p), length), _Span(at, length)
    libc.process_vm_readv.restype = ctypes.c_ssize_t
    ctypes.set_errno(0)
    n = libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    if n < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")
    return buf.raw[:n]


def fill(path, most=1 << 40):
    """Writes until there is no room: how much there was, and the error."""
    n = 0
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while n < most:
            n += os.write(fd, b"x" * (1 << 20))
    except OSError as e:
        return "%d MiB %s" % (n >> 20, errno.errorcode[e.errno])
    finally:
        os.close(fd)
    return "%d MiB" % (n >> 20)
