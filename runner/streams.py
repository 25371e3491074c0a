# Unbuffered streams of Python's write once and believe that all was written. That holds for pipes of Linux that block;
# gVisor's, when they lead out of the sandbox and are full, take a part. These write until all is taken.
# An interpreter that starts finds this file as its sitecustomize (where its distribution looks in /etc); the init runs it too.
def _streams():
    import sys
    io = sys.modules["io"]

    class FileIO(io.FileIO):
        def write(self, b):
            write = super().write
            n = write(b)
            if n is None:
                return n
            with memoryview(b) as m:
                size = m.nbytes
                if n < size:
                    with m.cast("B") as c:
                        while n < size:
                            k = write(c[n:])
                            if k is None:
                                break
                            n += k
            return n

    for name, fd in ("stdout", 1), ("stderr", 2):
        old = getattr(sys, name)
        if old is None or type(old.buffer) is not io.FileIO:
            continue
        raw = FileIO(fd, "wb", closefd=False)
        raw.name = old.buffer.name
        new = io.TextIOWrapper(raw, encoding=old.encoding, errors=old.errors, newline="\n", line_buffering=old.line_buffering, write_through=True)
        new.mode = old.mode
        setattr(sys, name, new)
        setattr(sys, "__" + name + "__", new)


_streams()
del _streams
