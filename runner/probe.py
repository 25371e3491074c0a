# Run in a computer by the check at a server's start: says, as one JSON object of a bounded size, what the computer has.
import glob
import importlib.metadata
import json
import os
import subprocess
import sys

MOST = 1000  # libraries
SIZE = 96 << 10  # bytes of them together
FILE = 256 << 10  # bytes of a package.json that is looked at


def distributions():
    for d in importlib.metadata.distributions():
        try:
            yield "pypi", d.metadata["Name"], d.version
        except Exception:
            continue  # one that is broken is none


def modules():
    for top in "/usr/share/nodejs", "/usr/lib/nodejs", "/usr/lib/*/nodejs", "/usr/lib/node_modules", "/usr/local/lib/node_modules":
        for name in glob.iglob(top + "/*/package.json"), glob.iglob(top + "/@*/*/package.json"):
            for file in name:
                try:
                    with open(file, "rb") as f:
                        m = json.loads(f.read(FILE))
                    yield "npm", m["name"], m["version"]
                except Exception:
                    continue


def libraries():
    seen = set()
    for found in distributions, modules:
        for words in found():
            if all(isinstance(w, str) and 0 < len(w) <= 214 and w.isprintable() and " " not in w for w in words):
                seen.add(" ".join(words))
            if len(seen) > 20 * MOST:
                break
    size, kept = 0, []
    for line in sorted(seen)[:MOST]:
        size += len(json.dumps(line)) + 2
        if size > SIZE:
            break
        kept.append(line)
    return kept


def output(*argv):
    try:
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=8)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return p.stdout[:100].decode("ascii", "replace").strip() if p.returncode == 0 else ""


STREAMS = "import io, sys; print(isinstance(sys.stdout.buffer, io.FileIO) and type(sys.stdout.buffer) is not io.FileIO)"

json.dump(
    {
        "python": "%d.%d.%d" % sys.version_info[:3],
        "libc": os.confstr("CS_GNU_LIBC_VERSION") or "libc unknown",
        "node": output("node", "--version").lstrip("v"),
        "streams": output(sys.executable, "-c", STREAMS) == "True",
        "libraries": libraries(),
    },
    sys.stdout,
)
