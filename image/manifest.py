# Prints what a built image holds, read from its files: the arguments are named below.
import glob
import importlib.metadata
import json
import os
import platform
import sys

root, digest, size, inputs, added, left_out, node = sys.argv[1:]


def packages():
    with open(root + "/var/lib/dpkg/status", encoding="utf-8") as f:
        for block in f.read().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] not in " \t")
            if "Package" in fields:
                yield {"name": fields["Package"], "version": fields["Version"]}


def distributions():
    folders = [root + "/usr/lib/python3/dist-packages", *glob.glob(root + "/usr/lib/python3.*/dist-packages")]
    for d in importlib.metadata.distributions(path=folders):
        if d.metadata["Name"]:
            yield {"ecosystem": "pypi", "name": d.metadata["Name"], "version": d.version}


def modules():
    for top in "/usr/share/nodejs", "/usr/lib/nodejs", "/usr/lib/*/nodejs", "/usr/lib/node_modules":
        for name in glob.glob(root + top + "/*/package.json") + glob.glob(root + top + "/@*/*/package.json"):
            with open(name, encoding="utf-8") as f:
                m = json.load(f)
            if m.get("name") and m.get("version"):
                yield {"ecosystem": "npm", "name": m["name"], "version": m["version"]}


def unique(things):
    return [json.loads(t) for t in sorted({json.dumps(t) for t in things})]


def release():
    with open(root + "/usr/lib/os-release", encoding="utf-8") as f:
        fields = dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line)
    return fields["PRETTY_NAME"].strip('"')


def lines(name):
    with open(name, encoding="utf-8") as f:
        return f.read().split()


json.dump(
    {
        "digest": digest,
        "size": int(size),
        "inputs": inputs,
        "added": added,
        "release": release(),
        "runtimes": ["python3 " + platform.python_version(), "node " + node.lstrip("v"), "glibc " + os.confstr("CS_GNU_LIBC_VERSION").split()[1]],
        "libraries": unique([*distributions(), *modules()]),
        "packages": unique(packages()),
        "left_out": lines(left_out),
    },
    sys.stdout,
    indent=1,
)
print()
