# The init of a computer. It runs as root inside the sandbox, and is the only thing there that is trusted: it reads
# nothing that a program could have written. Its interpreter was started with an empty environment but for what
# _SAME names, in /, with no folder of a program's on its path, before any program ran. It came, compiled if it could be, through a
# pipe (see bootstrap in oci.go), which left it, with streams.py, in _code.
#
# Descriptor 3 (work): one packet a request, with descriptors attached; the process forked ahead answers it.
#   F<length>           payload                         changes of files
#   V<length>           payload                         a package's folder, compared and tidied (see package.go)
#   R<length>           payload out                     entries of a folder, written to out (see read.go)
#   C<length>           stdin stdout stderr payload     changes of files, then a program
#   P                                                   the init's compiled code
#   answers: p<code>; n<pid> waiting (n0: the first one will be soon); r<path> removed; o<pid> done, or the program starts; m<removed> <index> …, what a package's
#     folder lacks; e<index> <full> <message>
# Descriptor 4 (control): t and k end the running program; x<pid> <status> <cpu us> <max rss KiB> <left over> <remaining> <made> <held> tells its end.
#
# Capabilities: SETUID and SETGID to become the programs' user, KILL to end them, CHOWN to hand files over to it, and
# DAC_OVERRIDE with FOWNER to remove what programs put in folders of their own where files have to go. A program has none.
#
# Once a program of Node's has run here, a node waits, too: as root, out of every program's reach, for the process forked
# ahead to hand a call over to it.
import sys
_BASE = sys.path[1:]
sys.path[:] = _BASE
import os, _signal, _socket, select, gc

_WORK, _CONTROL = 3, 4
_USER = 1000
_CALLS, _SCRIPTS = b"/workspace/.calls", b"/scripts"  # root's, whatever programs do
_O_DIR = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# Variables that an interpreter reads as it starts. A program that has other values gets an interpreter of its own.
_SAME = {b"PYTHONUNBUFFERED": b"1", b"PYTHONDONTWRITEBYTECODE": b"1", b"LANG": b"C.UTF-8"}
# The same of Node's: how their names begin, those that can be set later, and the environment of the node that waits.
_NODE_READS = b"NODE_", b"UV_", b"LC_", b"LD_", b"ICU_", b"OPENSSL_", b"SSL_", b"MALLOC_", b"GLIBC_"
_NODE_LATER = b"NODE_ENV", b"NODE_PATH"
_NODE_ENV = {b"LANG": b"C.UTF-8", b"TZ": b"UTC", b"PATH": b"/usr/local/bin:/usr/bin:/bin"}
_NODE_UNUSED = 16  # calls after which a node that waits is given up
# What the node that waits does. Its descriptor 3 is a socket to the init and its children, 4 holds this text. It is asked
# with a length and lists of strings, and answers o<pid> <cpu us so far>, its last word before it becomes the program, or ends.
# The program runs in the tick after this module, so that nothing of this module has called it.
_NODE_AHEAD = r"""'use strict';
const fs = require('fs'), path = require('path'), Module = require('module');
require('net'), require('url'), require('util'); // standard streams need them
const read = (n) => {
  const b = Buffer.alloc(n);
  for (let at = 0; at < n;) {
    const k = fs.readSync(3, b, at, n - at);
    if (k === 0) process.reallyExit(0);
    at += k;
  }
  return b;
};
const text = read(read(4).readUInt32LE());
let at = 0;
const num = () => text.readUInt32LE((at += 4) - 4);
const string = () => { const n = num(); return text.toString('utf8', at, at += n); };
const list = () => Array.from({ length: num() }, string);
try {
  const files = list(), [cwd] = list(), options = list(), argv = list(), env = list();
  files.forEach((file, fd) => {
    fs.closeSync(fd);
    if (fs.openSync(file, fd === 0 ? fs.constants.O_RDONLY : fs.constants.O_WRONLY) !== fd) process.reallyExit(1);
  });
  process.setgid(USER); // it has no other groups
  process.setuid(USER); // and with it every capability goes
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (name !== 'TZ') delete process.env[name]; // without it, a zone would be looked for
  for (const e of env) {
    const name = e.slice(0, e.indexOf('=')), value = e.slice(name.length + 1);
    if (process.env[name] !== value) process.env[name] = value;
  }
  const main = path.resolve(argv[0]);
  process.argv.splice(1, Infinity, main, ...argv.slice(1));
  process.execArgv = options;
  delete process.mainModule;
  delete require.cache[__filename];
  for (const name of Object.keys(Module._pathCache)) delete Module._pathCache[name];
  Module._initPaths();
  process.nextTick(Module.runMain.bind(Module, fs.realpathSync(main)));
  const cpu = process.cpuUsage();
  fs.writeSync(3, `o${process.pid} ${cpu.user + cpu.system}`);
} catch {
  process.reallyExit(1); // the program gets a node of its own, which has the right words
}
fs.closeSync(3);
fs.closeSync(4);
""".replace("USER", "%d" % _USER).encode()


def _open(name, parent=None):
    """A folder, links not followed. Not with O_DIRECTORY: beside it gVisor does not heed O_NOFOLLOW."""
    fd = os.open(name, _O_DIR, dir_fd=parent)
    if os.fstat(fd).st_mode & 0o170000 != 0o040000:
        os.close(fd)
        raise NotADirectoryError(20, "Not a directory")
    return fd


def _reader(buf):
    """Functions that take an int of 8 bytes, bytes, and a list of bytes from buf."""
    at = 0

    def num():
        nonlocal at
        at += 8
        return int.from_bytes(buf[at - 8:at], "little")

    def data():
        nonlocal at
        n = num()
        at += n
        return buf[at - n:at]

    def some():
        return [bytes(data()) for _ in range(num())]
    return num, data, some


def _receive(fd, length):
    """All of a payload, from its pipe."""
    buf = memoryview(bytearray(length))
    at = 0
    while at < length:
        n = os.readv(fd, [buf[at:]])
        if n == 0:
            raise EOFError("the payload ended early")
        at += n
    return buf


def _remove(name, parent):
    """What name is in the folder parent, and all in it, links not followed."""
    try:
        os.unlink(name, dir_fd=parent)
        return
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        pass
    # A list, not recursion: programs can nest folders deeper than frames, descriptors and paths go.
    top = _open(name, parent)
    stack = [(top, name, [])]
    try:
        stack[0][2].extend(os.listdir(top))
        while stack:
            fd, name, entries = stack[-1]
            if not entries:
                stack.pop()
                os.close(fd)
                os.rmdir(name, dir_fd=stack[-1][0] if stack else parent)
                continue
            entry = os.fsencode(entries.pop())
            try:
                os.unlink(entry, dir_fd=fd)
            except (IsADirectoryError, PermissionError):
                if len(stack) > 200:  # too deep: it is brought up, beside the first ones, under a name that nobody has foreseen
                    up = b".deep-" + os.urandom(16).hex().encode()
                    os.rename(entry, up, src_dir_fd=fd, dst_dir_fd=top)
                    stack[0][2].append(up)
                    continue
                down = _open(entry, fd)
                stack.append((down, entry, []))
                stack[-1][2].extend(os.listdir(down))
    finally:
        for fd, _, _ in stack:
            os.close(fd)


def _folder(path, make):
    """The folder at path, opened with no link followed; make puts folders where there are none. None: not there."""
    fd = _open("/")
    for i, name in enumerate(n for n in path.split(b"/") if n):
        try:
            down = _down(name, fd, make and i > 0)
        finally:
            os.close(fd)
        if down is None:
            return None
        fd = down
    return fd


def _down(name, fd, make):
    """The folder name in the one that is open, opened as _folder does."""
    for again in (False, True):
        try:
            return _open(name, fd)
        except FileNotFoundError:
            if not make:
                return None
        except OSError:  # a link, a FIFO, a file
            if not make:
                return None
            if again:
                raise
            _remove(name, fd)
        os.mkdir(name, 0o755, dir_fd=fd)


def _reach(held, path, make):
    """The folder at path as _folder has it, by way of those that are held: paths and descriptors of folders, each in the one before. It is the last of
    them then. A change in a folder lets go of all that are below it, so none that is held has been replaced."""
    while held and held[-1][0] != path and not path.startswith(held[-1][0] + b"/"):
        os.close(held.pop()[1])
    if path.count(b"/") > 100:  # descriptors are few
        _let_go(held)
        fd = _folder(path, make)
        if fd is not None:
            held.append((path, fd))
        return fd
    if not held:
        held.append((b"", _open("/")))
    at, fd = held[-1]
    for name in path[len(at) + 1:].split(b"/") if at != path else ():
        fd = _down(name, fd, make and at != b"")
        if fd is None:
            return None
        at += b"/" + name
        held.append((at, fd))
    return fd


def _put(fd, name, content, mode, uid, gid):
    """A new file, where nothing is; FileExistsError, where something is."""
    f = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode & 0o755, dir_fd=fd)
    try:
        try:
            at = 0
            while at < len(content):
                at += os.write(f, content[at:])
            if uid or gid:
                os.fchown(f, uid, gid)
            if mode & ~0o755:
                os.fchmod(f, mode)
        finally:
            os.close(f)
    except BaseException:
        os.unlink(name, dir_fd=fd)
        raise


def _write(fd, name, content, mode, uid, gid):
    try:
        return _put(fd, name, content, mode, uid, gid)  # no program is there to see it half
    except FileExistsError:
        pass
    temp = name[:name.rfind(b"/") + 1] + b".scriptorium-new"
    _remove(temp, fd)
    _put(fd, temp, content, mode, uid, gid)
    try:
        try:
            os.rename(temp, name, src_dir_fd=fd, dst_dir_fd=fd)
        except IsADirectoryError:
            _remove(name, fd)
            os.rename(temp, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        _remove(temp, fd)
        raise


def _mkdir(fd, name, mode, uid, gid):
    try:
        os.mkdir(name, mode & 0o755, dir_fd=fd)
        if uid or gid:
            os.chown(name, uid, gid, dir_fd=fd, follow_symlinks=False)
        if not mode & ~0o755:
            return
    except FileExistsError:
        pass
    try:
        f = _open(name, fd)
    except OSError:
        _remove(name, fd)
        os.mkdir(name, 0o700, dir_fd=fd)
        f = _open(name, fd)
    try:
        os.fchown(f, uid, gid)
        os.fchmod(f, mode)
    finally:
        os.close(f)


def _prune(path, suffix, keep, work):
    fd = _folder(path, False)
    if fd is None:
        return
    try:
        for name in sorted(os.fsencode(n) for n in os.listdir(fd)):
            if not name.endswith(suffix) or name in keep:
                continue
            st = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if st.st_uid == 0 and st.st_mode & 0o170000 == 0o100000:
                os.unlink(name, dir_fd=fd)
                work.send(b"r" + path + b"/" + name)
    finally:
        os.close(fd)


def _change(num, data, some, work, held):
    """Makes one change. held is for _reach."""
    op, path, mode, uid, gid = bytes(data()), bytes(data()), num(), num(), num()
    content, suffix, target, keep = data(), bytes(data()), bytes(data()), some()
    if op == b"prune":
        return _prune(path, suffix, set(keep), work)
    above, _, name = path.rpartition(b"/")
    if above.startswith(_CALLS + b"/") and above.count(b"/") == 3:
        # In a call's own folder all is root's, down to what is straight in it, so that paths are what they say. Each call needs some: this costs few
        # system calls.
        try:
            return _make(op, path, None, content, mode, uid, gid, target)
        except FileNotFoundError:
            os.mkdir(above, 0o755)
        return _make(op, path, None, content, mode, uid, gid, target)
    fd = _reach(held, above, op != b"remove")
    if fd is not None:
        _make(op, name, fd, content, mode, uid, gid, target)


def _make(op, name, fd, content, mode, uid, gid, target):
    """Makes a change of what name is in the folder fd."""
    if op == b"write":
        _write(fd, name, content, mode, uid, gid)
    elif op == b"mkdir":
        _mkdir(fd, name, mode, uid, gid)
    elif op == b"put":
        _put(fd, name, content, mode, uid, gid)
    elif op == b"link":
        _remove(name, fd)
        os.symlink(target, name, dir_fd=fd)
        os.chown(name, uid, gid, dir_fd=fd, follow_symlinks=False)
    else:
        _remove(name, fd)


def _let_go(held):
    while held:
        os.close(held.pop()[1])


def _sha256(total):
    """What makes digests: code of the interpreter's own, or, where there is much to read, OpenSSL's, which is faster and takes longer to load. The
    program that this process becomes finds no module that it did not import."""
    for name in (["_hashlib"] if total >= 4 << 20 else []) + ["_sha256", "_sha2", "_hashlib"]:
        there = name in sys.modules
        try:
            module = __import__(name)
        except ImportError:
            continue
        if not there:
            del sys.modules[name]
        return getattr(module, "sha256", None) or module.openssl_sha256
    raise ImportError("no SHA-256")


def _owned(fd):
    """Makes what is open root's, for all to read and nobody to write, where it is a folder; whether it is."""
    st = os.fstat(fd)
    if st.st_mode & 0o170000 != 0o040000:
        return False
    if st.st_uid or st.st_gid:
        os.fchown(fd, 0, 0)
    if st.st_mode & 0o7777 != 0o555:
        os.fchmod(fd, 0o555)
    return True


def _below(name, parent):
    """The folder name of the packages', made where none is."""
    try:
        fd = os.open(name, _O_DIR, dir_fd=parent)
        if _owned(fd):
            return fd
        os.close(fd)
    except OSError:  # none, a link, a socket
        pass
    _remove(name, parent)
    os.mkdir(name, 0o555, dir_fd=parent)
    return os.open(name, _O_DIR, dir_fd=parent)


def _same(fd, size, digest, sha):
    """Whether an open file is a package's."""
    st = os.fstat(fd)
    if (st.st_mode, st.st_uid, st.st_gid, st.st_nlink, st.st_size) != (0o100444, 0, 0, 1, size):
        return False
    h = sha()
    while size:
        b = os.read(fd, min(size, 1 << 20))
        if not b:
            return False
        size -= len(b)
        h.update(b)
    return h.digest() == digest


def _compare(fd, wanted, sha, missing):
    """Removes from a folder what is not as wanted has it: by name a file (index, size, digest) or, for a folder, the same again. Folders are made,
    the indexes of files that are not there are added to missing; the answer counts what was no part of it."""
    removed = 0
    there = set()
    for name in map(os.fsencode, os.listdir(fd)):
        want = wanted.get(name)
        down = None
        if want is not None:
            try:
                down = os.open(name, _O_DIR, dir_fd=fd)
            except OSError:  # a link, a socket
                pass
        if down is not None:
            try:
                if type(want) is tuple:
                    if _same(down, *want[1:], sha):
                        there.add(name)
                        continue
                elif _owned(down):
                    removed += _compare(down, want, sha, missing)
                    there.add(name)
                    continue
            finally:
                os.close(down)
        _remove(name, fd)
        removed += want is None
    for name, want in wanted.items():
        if name in there:
            continue
        if type(want) is tuple:
            missing.append(want[0])
            continue
        down = _below(name, fd)
        try:
            _compare(down, want, sha, missing)
        finally:
            os.close(down)
    return removed


def _room(need, keep):
    """Removes packages but for keep, those first that were written first, until there is room, or none is left."""
    top = os.open(_SCRIPTS, _O_DIR)
    try:
        old = []
        for name in map(os.fsencode, os.listdir(top)):
            fd = _below(name, top)
            old += [(os.stat(n, dir_fd=fd, follow_symlinks=False).st_mtime_ns, name, os.fsencode(n)) for n in os.listdir(fd)]
            os.close(fd)
        for _, name, number in sorted(old):
            st = os.fstatvfs(top)
            if st.f_bavail * st.f_frsize >= need:
                return
            if [name, number] != keep:
                fd = _below(name, top)
                _remove(number, fd)
                os.close(fd)
    finally:
        os.close(top)


def _package(num, data, base):
    """Has a package's folder below base hold nothing but files of its own: how much else was there, and which files are missing. Nothing but regular
    files is read, no link is followed."""
    path, wanted, missing, pages, total = bytes(data()).split(b"/"), {}, [], [], 0
    for i in range(num()):
        *above, name = bytes(data()).split(b"/")
        into = wanted
        for a in above:
            into = into.setdefault(a, {})
        into[name] = i, num(), bytes(data())
        total += into[name][1]
        pages.append(into[name][1] + 4095 & ~4095)
    fd = os.open(base, _O_DIR)  # a mount in a folder of the root's: no link can be there
    try:
        if base == _SCRIPTS:
            _owned(fd)
        for name in path:
            down = _below(name, fd)
            os.close(fd)
            fd = down
        removed = _compare(fd, wanted, _sha256(total), missing)
        if missing:
            _room(sum(pages[i] for i in missing), path)
    finally:
        os.close(fd)
    return b"m%d " % removed + b" ".join(b"%d" % i for i in missing)


def _read(num, data, out):
    """Tells the entries of a folder, and the contents of its files, to the pipe out. No link is followed; only regular files are opened."""
    n = more = 0
    stack = []

    def enter(fd, prefix):
        with os.scandir(fd) as names:
            stack.append((fd, prefix, iter(heapq.nsmallest(most - n + 1, (os.fsencode(e.name) for e in names)))))

    with open(out, "wb", 1 << 16) as w:  # closed in any case: its end is waited for
        import heapq
        path, deep, most, files, each, total = bytes(data()), num(), num(), num(), num(), num()

        def tell(*what):
            for v in what:
                if type(v) is bytes:
                    w.write(len(v).to_bytes(8, "little"))
                    w.write(v)
                else:
                    w.write(v.to_bytes(8, "little", signed=v < 0))
        try:
            top = _folder(path, False)
            if top is not None:
                enter(top, b"")
            while stack:
                fd, prefix, names = stack[-1]
                name = next(names, None)
                if name is None:
                    os.close(fd)
                    stack.pop()
                    continue
                if n == most:
                    more = 1
                    break
                n += 1
                st = os.stat(name, dir_fd=fd, follow_symlinks=False)
                kind = {0o100000: 1, 0o040000: 2, 0o120000: 3}.get(st.st_mode & 0o170000, 4)
                target = os.readlink(name, dir_fd=fd) if kind == 3 else b""
                taken = kind == 1 and files > 0 and st.st_size <= min(each, total)
                tell(kind, prefix + name, st.st_mode & 0o1777, st.st_uid, st.st_nlink, st.st_size, target, st.st_size if taken else -1)
                if taken:
                    files -= 1
                    total -= st.st_size
                    f = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                    try:
                        left = st.st_size
                        while left:
                            b = os.read(f, min(left, 1 << 20))
                            left -= len(b)
                            w.write(b)
                    finally:
                        os.close(f)
                elif kind == 2 and deep:
                    if len(stack) < 64:
                        enter(_open(name, fd), prefix + name + b"/")
                    else:
                        more = 1
            tell(0, more)
        finally:
            for fd, _, _ in stack:
                os.close(fd)


def _changes(num, data, some, work):
    """Makes a payload's changes; an answer where one failed, else None."""
    held = []
    try:
        for i in range(num()):
            try:
                _change(num, data, some, work, held)
            except Exception as e:
                return _failure(i, e)
    finally:
        _let_go(held)
    return None


def _failure(i, e):
    """What is told to the runner, which tells who asked."""
    no = getattr(e, "errno", None)
    return b"e%d %d %s" % (i, no in (28, 12, 122, 27), (os.strerror(no) if no else repr(e)).encode()[:1000])


def _rehearse():
    """Does what a request will have done, to no effect: pages written now need not be copied then, which costs much here.
    Not before the first call of a computer that was made for it, which is waited for."""
    try:
        fd = os.open(_CALLS, _O_DIR)  # where no program puts anything
        _write(fd, b".scriptorium-try", b"x", 0o444, 0, 0)
        _remove(b".scriptorium-try", fd)
        _mkdir(fd, b".scriptorium-try", 0o755, _USER, _USER)
        os.rmdir(b".scriptorium-try", dir_fd=fd)
        os.close(fd)
    except OSError:  # full
        pass
    try:
        _rehearse_package()
    except OSError:
        pass
    os.chdir(b"/")
    num, data, some = _reader(b"\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0A=b")
    dict(e.split(b"=", 1) for e in some())
    some_file = os.fsencode(os.__file__)
    _found[b"python3", _NODE_ENV[b"PATH"]] = found = _which(b"python3", _NODE_ENV)
    _script([b"python3", some_file], dict(_SAME), found)
    os.environ["A"] = "b"
    os.environ.clear()
    argv, orig = sys.argv[:], sys.orig_argv[:]
    main = sys.modules["__main__"]
    _prepare([b"python3", some_file], None)
    exec(compile("import sys\nx = [str(i) for i in range(3)]\n", "main.py", "exec"), sys.modules["__main__"].__dict__)
    with open("/dev/null", "wb", 0) as null:
        out = type(sys.stdout)(null, encoding="utf-8", newline="\n", write_through=True)
        print("x", file=out)
        out.detach()
    from _weakref import ref
    ref(sys.modules["__main__"])
    set(vars(sys)) - _SYS
    gc.collect()
    sys.modules["__main__"] = main
    sys.argv[:], sys.orig_argv[:], sys.path[:] = argv, orig, _BASE


def _rehearse_package():
    """The same for packages, where there are any: in the folder of calls, where no program can write."""
    if not os.listdir(_SCRIPTS):
        return
    one = (1).to_bytes(8, "little")
    text = b"\x06\0\0\0\0\0\0\0.try/1" + one + one + b"x" + one + b"\x20\0\0\0\0\0\0\0" + _sha256(0)(b"x").digest()
    fd = os.open(_CALLS, _O_DIR)
    try:
        down = _below(b".try", fd)
        one = _below(b"1", down)
        _put(one, b"x", b"x", 0o444, 0, 0)
        os.close(one)
        os.close(down)
        _package(*_reader(text)[:2], _CALLS)
    finally:
        _remove(b".try", fd)
        os.close(fd)


def _next():
    """The process forked ahead: does file requests as root, and comes back, as the programs' user, as a program."""
    _signal.set_wakeup_fd(-1)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    for fd in _wake_r, _wake_w, _note_r, _sockets, _CONTROL:
        os.close(fd)
    if _theirs is not None:
        _theirs.close()
    os.setsid()
    os.closerange(0, 3)  # a call's streams come in their place
    work = _work
    if not _first:
        _rehearse()
    work.send(b"n%d" % os.getpid())
    if _first:  # a call that the computer was made for is there by now; else it is one of those that wait for a run
        soon = select.poll()
        soon.register(work, select.POLLIN)
        if not soon.poll(100):
            _rehearse()
    while True:
        m, anc, _, _ = work.recvmsg(64, 64)
        if not m:
            os._exit(0)
        if m == b"P":  # this code, so that the next computers need not compile it
            import marshal
            work.send(b"p" + marshal.dumps(_code))
            continue
        fds = []
        for _, _, d in anc:
            fds += [int.from_bytes(d[i:i + 4], "little") for i in range(0, len(d) - 3, 4)]
        payload = fds.pop(3 if m[:1] == b"C" else 0)
        buf = _receive(payload, int(m[1:]))
        os.close(payload)
        num, data, some = _reader(buf)
        if m[:1] == b"R":
            try:
                _read(num, data, fds[0])
                bad = None
            except Exception as e:
                bad = b"e-1 0 " + repr(e).encode()[:1000]
            work.send(bad or b"o%d" % os.getpid())
            continue
        if m[:1] == b"V":
            try:
                work.send(_package(num, data, _SCRIPTS))
            except Exception as e:
                work.send(_failure(0, e))
            continue
        bad = _changes(num, data, some, work)
        if m[:1] == b"C" and bad is None:
            return _become(num, data, some, fds)
        for fd in fds:
            os.close(fd)
        work.send(bad or b"o%d" % os.getpid())


def _become(num, data, some, fds):
    """Gives up root, and makes this process what the request says. What has to go right does so before the answer."""
    argv, env, cwd, fresh = some(), some(), bytes(data()), num()
    limits = [num() for _ in range(4)]
    outputs = bytes(data())
    if outputs:
        os.write(_note_w, b"m" + outputs + b"\0")
    env = dict(e.split(b"=", 1) for e in env)
    if argv[0] == b"node" and not fresh and not any(limits) and _hand_over(argv, env, cwd, fds):
        os._exit(0)
    try:
        os.setresgid(_USER, _USER, _USER)  # it has no other groups, as the init has none
        os.setresuid(_USER, _USER, _USER)  # and with it every capability
        for std, fd in enumerate(fds):
            if fd != std:  # descriptors come in the lowest places
                os.dup2(fd, std)
        os.chdir(cwd)
        if any(limits):  # else the computer's hold, which this process has already
            import resource
            for which, v in zip((resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC), limits):
                if v:
                    resource.setrlimit(which, (min(v, resource.getrlimit(which)[0]),) * 2)
    except OSError as e:
        _work.send(b"e-1 0 " + str(e).encode()[:1000])
        os._exit(0)
    _work.send(b"o%d" % os.getpid())
    _work.detach()
    if _ahead is not None:
        _ahead.detach()
    os.closerange(3, 1024)  # all that is not the program's
    found = _which(argv[0], env)
    script = None if fresh else _script(argv, env, found)
    if script is None:
        real = found and os.path.realpath(found)
        if real is not None and real != _PYTHON_REAL and limits[0] == 0:
            memory = _address_space(-1)
            if real == _node_path():
                argv[1:1] = _node_options(memory)
        _execute(found, argv, env)
    os.environ.clear()
    os.environb.update(env)
    return argv, script


def _which(name, env):
    if b"/" in name:
        return name
    path = env.get(b"PATH", b"/usr/bin:/bin")
    if (name, path) in _found:
        return _found[name, path]
    for d in path.split(b":"):
        p = (d or b".") + b"/" + name
        if os.access(p, os.X_OK) and not os.path.isdir(p):
            return p
    return None


def _script(argv, env, found):
    """The source, where this very interpreter would run it just as a new one: `python3 FILE …`, start-up variables ours."""
    if found is None or len(argv) < 2 or argv[1][:1] in (b"-", b""):
        return None
    if found != _PYTHON and os.path.realpath(found) != _PYTHON_REAL:
        return None
    for k, v in _SAME.items():
        if env.get(k) != v:
            return None
    for k in env:
        if (k[:6] == b"PYTHON" and k != b"PYTHONPATH" and k not in _SAME) or k[:3] == b"LC_" or k[:3] == b"LD_" or k == b"GLIBC_TUNABLES":
            return None
    try:
        fd = os.open(argv[1], os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        st = os.fstat(fd)
        if st.st_mode & 0o170000 != 0o100000 or st.st_size > 64 << 20:
            raise OSError
        try:
            src = os.read(fd, st.st_size + 1)
            while len(src) > st.st_size and (more := os.read(fd, 1 << 16)):  # it grows
                src += more
        finally:
            os.close(fd)
    except OSError:
        return None  # a new interpreter has the right words for it
    if b"\0" in src:  # compiled code, or an archive
        return None
    return src


def _address_space(soft=None):
    """The limit of this process's address space, which is the computer's memory, and sets another one. It is for Python, which raises
    a MemoryError in time; others reserve far more than they use."""
    import resource
    now, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft is not None:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return now


def _node_path():
    found = _which(b"node", _NODE_ENV)
    return found and os.path.realpath(found)


def _node_options(memory):
    """Node's heap ends before the computer's memory, which would take the computer along."""
    return [b"--max-old-space-size=%d" % (memory * 3 // 4 >> 20)]


def _hand_over(argv, env, cwd, fds):
    """Has the node that waits run the program, where that is as in one of its own; whether it does. Notes go to the init."""
    if len(argv) < 2 or argv[1][:1] in (b"-", b"") or env.get(b"LANG") != _NODE_ENV[b"LANG"] or not env.get(b"TZ"):
        return False
    if any(k.startswith(_NODE_READS) and k not in _NODE_LATER for k in env):
        return False
    found, file = _which(b"node", env), os.path.join(cwd, argv[1])
    if found is None or os.path.realpath(found) != _node_path() or not os.path.isfile(file):
        return False
    text = b""
    files = [b"/proc/%d/fd/%d" % (os.getpid(), fd) for fd in fds]
    try:
        for strings in files, [cwd], _node_options(_address_space()), argv[1:], [k + b"=" + v for k, v in env.items()]:
            text += len(strings).to_bytes(4, "little")
            for s in strings:
                s.decode()  # what is not UTF-8 would not get there as it is
                text += len(s).to_bytes(4, "little") + s
    except ValueError:
        return False
    os.write(_note_w, b"w")
    if _ahead is None:
        return False
    try:
        _ahead.sendall(len(text).to_bytes(4, "little") + text)
        answer = _ahead.recv(64)
    except OSError:
        return False
    if not answer:  # it ended
        return False
    os.write(_note_w, answer)
    _work.send(answer.split()[0])
    return True


def _execute(found, argv, env):
    # What Python set for itself is not for others.
    for s in _signal.SIGPIPE, _signal.SIGXFSZ:
        _signal.signal(s, _signal.SIG_DFL)
    code, why = 127, "not found"
    if found is not None:
        try:
            os.execve(found, argv, env)
        except FileNotFoundError:
            pass
        except OSError as e:
            code, why = 126, e.strerror
    os.write(2, argv[0] + b": " + why.encode() + b"\n")
    os._exit(code)


def _prepare(argv, src):
    """Makes this interpreter's state that of a new one running the file, whose whole path is the answer."""
    import site, time
    time.tzset()
    name = os.fsdecode(argv[1])
    full = os.path.abspath(name)
    sys.argv[:] = [os.fsdecode(a) for a in argv[1:]]
    sys.orig_argv[:] = [os.fsdecode(a) for a in argv]
    cut = next((i for i, p in enumerate(_BASE) if p.endswith("lib-dynload")), -1) + 1
    path = []
    pp = os.environ.get("PYTHONPATH")
    for p in ([os.path.abspath(p) for p in pp.split(":")] if pp else []) + _BASE[:cut]:
        if p not in path:
            path.append(p)
    sys.path[:] = path
    site.USER_BASE = site.USER_SITE = None
    site.addusersitepackages(set(path))
    sys.path += [p for p in _BASE[cut:] if p not in sys.path]
    main = type(sys)("__main__")
    ns = main.__dict__
    from _frozen_importlib_external import SourceFileLoader
    ns.update(__builtins__=sys.modules["builtins"], __file__=full, __cached__=None, __annotations__={}, __loader__=SourceFileLoader("__main__", full))
    sys.modules["__main__"] = main
    sys.path.insert(0, os.path.dirname(os.path.realpath(full)))
    return full


def _tell(e):
    """An exception that nobody caught, as an interpreter tells it."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except Exception:
            pass
    tb = e.__traceback__ and e.__traceback__.tb_next
    e = e.with_traceback(tb)
    sys.last_type, sys.last_value, sys.last_traceback = type(e), e, tb
    try:
        sys.excepthook(type(e), e, tb)
    except SystemExit:
        raise
    except BaseException as e2:
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(e2), e2.with_traceback(e2.__traceback__.tb_next), e2.__traceback__)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(e), e, tb)
    if isinstance(e, KeyboardInterrupt):  # an interpreter dies of the signal, after its tidying
        import atexit
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)


def _outside():
    """Where a program may leave things that outlive its own modules: signals' handlers, names in modules that were there before it, and
    what Python's own names stand for."""
    held = *map(_signal.getsignal, (1, 2, 10, 12, 13, 14, 15, 17, 25)), *_BUILTINS.values()
    return [id(v) for v in held] + [len(m.__dict__) for m in _THERE]


def _end(code):
    """Ends a program as its interpreter would, but for taking apart what was there before it began: nobody sees that, and it is
    most of the end of a short program here. Comes back, having done no harm, where the interpreter's own end may do more."""
    new = [n for n in sys.modules if n not in _MODULES]
    threading, contextvars = sys.modules.get("threading"), sys.modules.get("contextvars")
    if (threading is not None and threading.active_count() > 1) or sys.gettrace() or sys.getprofile() or not gc.isenabled():
        return
    if contextvars is not None and len(contextvars.copy_context()) or type(code) is not int or not -1 << 31 <= code < 1 << 31:
        return
    # What a program left in modules that were there before, or in a signal's handler, is not destroyed here.
    if _outside() != _OUTSIDE:
        return
    for n in new:  # code in C may have buffers of its own, or things to do at a process's end
        file = getattr(sys.modules[n], "__file__", None) or ""
        if n in ("_ctypes", "readline", "_curses", "_xxsubinterpreters", "_tkinter") or (file.endswith(".so") and "/lib-dynload/" not in file):
            return
    if threading is not None:
        threading._shutdown()
    atexit = sys.modules.get("atexit")
    if atexit is not None:
        atexit._run_exitfuncs()
    try:
        for f in sys.stdout, sys.stderr:
            if f is not None and not getattr(f, "closed", False):
                f.flush()
    except BaseException:
        return  # the interpreter tries once more, and says what it has to say
    gc.collect()  # as an interpreter does, while all is still held: what is found later is in an order in which files can be closed
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    for n in set(vars(sys)) - _SYS:
        delattr(sys, n)
    # What is a program's is destroyed, as destructors may have to be run: modules first, then what they leave in cycles, then what is
    # in modules that something else holds.
    from _weakref import ref as weak
    alive = []
    for n in *new, "__main__":
        m = sys.modules.pop(n, None)
        if type(m) is type(sys):
            alive.append(weak(m))
    m = None
    gc.collect()
    for ref in reversed(alive):
        m = ref()
        if m is not None:
            for one in True, False:
                for k in list(m.__dict__):
                    if k != "__builtins__" and (k[:1] == "_" and k[:2] != "__") is one:
                        m.__dict__[k] = None
    m = ref = None
    gc.collect()
    for f in gc.get_objects():  # the last resort, for what is held by something else: no byte is lost
        if type(f).__module__ == "_io" and hasattr(f, "flush"):
            try:
                f.flush()
            except BaseException:
                pass
    f = None
    try:
        for f in sys.stdout, sys.stderr:
            if f is not None and not f.closed:
                f.flush()
    except BaseException:
        pass
    os._exit(code & 255)


def _add(total, status, usage):
    total[0] += usage.ru_utime + usage.ru_stime
    total[1] = max(total[1], usage.ru_maxrss)


def _heed(pid, total):
    """Reads the notes of the process forked ahead, which is pid; the program's process: that, or the node that it has handed over to."""
    global _unused, _outputs
    try:
        note = os.read(_note_r, 1 << 13)
    except BlockingIOError:
        return pid
    if note[:1] == b"m":  # where it may leave outputs
        _outputs, _, note = note[1:].partition(b"\0")
    if not note:
        return pid
    _unused = 0
    _, handed, answer = note.partition(b"o")
    if handed:
        pid, cpu = map(int, answer.split())
        total[0] -= cpu / 1e6  # its start was not the call's
        _leave_node()
    return pid


def _watch(pid):
    """Until the program, which begins in the process pid, has ended. Orphans are taken in, and what control says is done."""
    total = [0.0, 0]
    ended = {}
    first = pid  # it ends when it has told the runner which process goes on with the program: not before may all be killed
    while True:
        for fd, _ in _poll.poll():
            if fd == _wake_r:
                os.read(_wake_r, 4096)
                continue
            m = _control.recv(16)
            if not m:
                os._exit(0)  # the runner is gone, and so shall everything here
            pid = _heed(pid, total)
            try:
                os.killpg(pid, 15) if m == b"t" else _kill()
            except ProcessLookupError:
                pass
        while True:
            try:
                p, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if p == 0:
                break
            ended[p] = status, usage
            if p != _node:
                _add(total, status, usage)
        program = _heed(pid, total)
        if program != pid:
            pid = program
            if pid in ended:  # before its note was read
                _add(total, *ended[pid])
        elif _node in ended:
            _leave_node()
        if pid in ended and first in ended:
            return pid, ended[pid][0], total


def _kill():
    """Kills all processes but this one and a node that waits; ProcessLookupError: there is none."""
    if _node is None:
        os.kill(-1, 9)
        return
    some = False
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, _node):
            try:
                os.kill(int(name), 9)
                some = True
            except ProcessLookupError:
                pass
    if not some:
        raise ProcessLookupError


def _sweep(total):
    """Kills all programs, in rounds until nobody is left: one that forks while it is killed needs more than one. How many there were, and how many
    remain: none, as the kernel says."""
    left = 0
    while True:
        try:
            _kill()
            nobody = False
        except ProcessLookupError:
            nobody = True
        while True:
            try:
                p, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return left, 0 if nobody else _remaining()
            if p == 0:
                if nobody and _node is not None:
                    return left, _remaining()
                if _wake_only.poll(2):
                    os.read(_wake_r, 4096)
                break
            if p == _node:
                _leave_node()
                continue
            _add(total, status, usage)
            left += status & 127 == 9


def _remaining():
    """How many processes there are beside this one and a node that waits: none, as the kernel says."""
    if _node is None:
        try:
            os.kill(-1, 0)
        except ProcessLookupError:
            return 0
    return sum(n.isdigit() and int(n) not in (1, _node) for n in os.listdir("/proc"))


def _held():
    """How many sockets are left, of those that come first, which nothing inside can close: each is on its way through another one of them. With them stay files, memory,
    locks and names."""
    there = os.pread(_sockets, 1 << 16, 0).count(b"\n")
    return max(0, there - 1 - 2 * (_ahead is not None))  # less a line of words, and the ends of the socket to a node that waits


def _made():
    """Whether anything may be in the folder of outputs of the call that has ended."""
    global _outputs
    path, _outputs = _outputs, b""
    if not path:
        return 0
    if path.startswith(_CALLS + b"/") and path.count(b"/") == 4:  # in a call's own folder, where a program replaces nothing
        try:
            return os.stat(path, follow_symlinks=False).st_size != _EMPTY
        except OSError:  # never made
            return 0
    try:
        fd = _folder(path, False)
        if fd is None:
            return 0
        try:
            with os.scandir(fd) as names:
                return next(names, None) is not None
        finally:
            os.close(fd)
    except OSError:  # who looks there will be told
        return 1


def _start_node():
    """Starts the node that waits. No program runs now."""
    global _node, _theirs
    text = os.memfd_create("ahead.js")
    memory = _address_space(-1)
    try:
        os.write(text, _NODE_AHEAD)
        options = _node_options(memory)
        _node = os.posix_spawn(_node_path(), [b"node", *options, b"--preserve-symlinks-main", b"/proc/self/fd/4"], _NODE_ENV, setsid=True,
                               setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ),
                               file_actions=((os.POSIX_SPAWN_DUP2, _theirs.fileno(), 3), (os.POSIX_SPAWN_DUP2, text, 4)))
    except OSError:  # no memory, say: programs get nodes of their own
        _leave_node()
    finally:
        _address_space(memory)
        os.close(text)
        _theirs.close()
        _theirs = None


def _leave_node():
    """Forgets the node that waited."""
    global _node, _ahead
    if _ahead is not None:  # it may be noticed twice
        _ahead.close()
    _node = _ahead = None


_found = {}  # programs by name and PATH, in folders of the root, which does not change
_PYTHON = os.fsencode(sys.executable)
_PYTHON_REAL = os.path.realpath(_PYTHON)
_work = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, _WORK)
_control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, _CONTROL)
os.set_inheritable(_WORK, False)
os.set_inheritable(_CONTROL, False)
_wake_r, _wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
_note_r, _note_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
_sockets = os.open("/proc/net/unix", os.O_RDONLY | os.O_CLOEXEC)
_outputs = b""  # the path of the running call's folder of outputs
_EMPTY = os.stat(_SCRIPTS).st_size  # of a folder that has nothing: a tmpfs counts entries
_node = _ahead = _theirs = None  # the node that waits, this side of its socket, and, until it is started, the other one
_unused = _NODE_UNUSED  # calls since one that such a node could have run; at first there was none
_signal.signal(_signal.SIGCHLD, lambda *_: None)
_signal.set_wakeup_fd(_wake_w, warn_on_full_buffer=False)
_poll, _wake_only = select.poll(), select.poll()
_poll.register(_wake_r, select.POLLIN)
_poll.register(_CONTROL, select.POLLIN)
_wake_only.register(_wake_r, select.POLLIN)
os.umask(0o022)
os.setgroups([])
if type(sys.stdout.buffer).__module__ == "_io":  # else an interpreter's own start has done it
    exec(_code[0], {})
os.environ.clear()
_MODULES, _SYS = set(sys.modules), set(vars(sys))
_BUILTINS = sys.modules["builtins"].__dict__
_THERE = [m for n, m in sys.modules.items() if type(m) is type(sys) and n not in ("__main__", "sys", "builtins")]
gc.freeze()
_work.send(b"n0")  # ready: what is asked meanwhile waits for the first process, whose fork takes its time here
_done = None
_first = True
while _done is None:
    if _node is None and _unused < _NODE_UNUSED:
        _ahead, _theirs = _socket.socketpair()
    _pid = os.fork()
    if _pid == 0:
        try:
            _done = _next()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(120)
        break
    if _theirs is not None:
        _start_node()
    _pid, _status, _total = _watch(_pid)
    _left, _remain = _sweep(_total)
    _control.send(b"x%d %d %d %d %d %d %d %d" % (_pid, _status, max(0, _total[0]) * 1e6, _total[1], _left, _remain, _made(), _held()))
    _unused += 1
    if _node is not None and _unused >= _NODE_UNUSED:
        os.kill(_node, 9)
        os.waitpid(_node, 0)
        _leave_node()
    if _first:  # the first call's answer is on its way: it goes before the next process, which a computer for one call does not need
        _first = False
        if any(fd == _CONTROL for fd, _ in _poll.poll(20)) and not _control.recv(16):
            os._exit(0)

# Only a program comes here, as its user, with no descriptor but its three.
_file = _prepare(*_done)
_OUTSIDE = _outside()
_caught, _ending = None, 0
try:
    exec(compile(_done[1], _file, "exec", dont_inherit=True), sys.modules["__main__"].__dict__)
except SystemExit as _e:
    _caught, _ending = _e, _e.code
except BaseException as _e:
    _caught, _ending = _e, None
if type(_caught) is SystemExit:
    if _ending is None or type(_ending) is int:
        _caught = None
        _end(0 if _ending is None else _ending)
        sys.exit(_ending)
    raise _caught.with_traceback(None)
if _caught is not None:
    if isinstance(_caught, SystemExit):
        raise _caught
    _tell(_caught)
    _caught = None
    _end(1)
    sys.exit(1)
_end(0)
