package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// A package that has what Python's and Node's packages have: modules beside the program and in folders, data, libraries that it brings along.
var runPackage = map[string]string{
	"main.py": `import sys, os, pathlib, importlib.resources, helper, words, words.more
print(helper.X, words.Y, words.more.Z, sys.path[0], os.getcwd(), __file__, helper.__file__, sys.argv, sys.dont_write_bytecode)
print(open("data/text").read(), (pathlib.Path(__file__).parent / "data/text").read_text(), importlib.resources.files("words").joinpath("text").read_text())
for f in lambda: open("new", "w"), lambda: os.mkdir("__pycache__"), lambda: open("words/more.py", "w"), lambda: os.unlink("helper.py"):
    try: f(); print("could")
    except OSError as e: print(type(e).__name__)
import tempfile, subprocess
print(os.path.dirname(tempfile.mkstemp()[1]), subprocess.check_output([sys.executable, "tools/other.py"]).decode(), sorted(os.listdir(".")), "__pycache__" in os.listdir("words"))
`,
	"helper.py":         "X = 'helper'\n",
	"words/__init__.py": "Y = 'words'\n",
	"words/more.py":     "from . import Y\nfrom helper import X\nZ = Y + X\n",
	"words/__main__.py": "import sys, words\nprint(words.Y, sys.path[0], __package__)\n",
	"words/text":        "within words",
	"data/text":         "data",
	"tools/other.py":    "import sys, os\ntry: import helper\nexcept ImportError: print(sys.path[0], os.getcwd())\n",
	"pool.py": `import multiprocessing as m, helper
def f(x): return helper.X, x * x
if __name__ == "__main__":
    for k in "fork", "spawn", "forkserver":
        with m.get_context(k).Pool(2) as p: print(k, p.map(f, range(2)))
`,
	"main.js": `const lib = require('./lib'), more = require('./lib/more.js'), dep = require('dep'), data = require('./data.json'), fs = require('fs');
console.log(lib.X, more.Y, dep, data.a, __dirname, __filename, process.cwd(), process.argv.slice(1), require.main === module, module.paths[0]);
for (const f of [() => fs.writeFileSync('new', ''), () => fs.mkdirSync('x'), () => fs.unlinkSync('main.js')]) try { f(); console.log('could') } catch (e) { console.log(e.code) }
import('./lib/esm.mjs').then((m) => console.log(m.default, fs.readdirSync('.').length));
`,
	"lib/index.js": "exports.X = 'lib';\n",
	"lib/more.js":  "exports.Y = require('.').X + ' more';\n",
	"lib/esm.mjs":  "import { createRequire } from 'node:module';\nexport default 'esm ' + createRequire(import.meta.url)('./more.js').Y;\n",
	"main.mjs": `import esm from './lib/esm.mjs';
import lib from './lib/index.js';
import dep from 'dep';
import { readFile } from 'node:fs/promises';
console.log(esm, lib.X, dep, await readFile(new URL('data/text', import.meta.url), 'utf8'), import.meta.url, process.cwd(), process.argv.slice(1));
`,
	"typed/package.json":        `{"type": "module", "name": "typed"}`,
	"typed/main.js":             "import { A } from './a.js';\nconsole.log(A, import.meta.url);\n",
	"typed/a.js":                "export const A = 'typed';\n",
	"node_modules/dep/index.js": "module.exports = 'dep of the package';\n",
	"data.json":                 `{"a": [1]}`,
}

// A package's entrypoint runs in its own folder, in the interpreter that was started ahead where one can take it, as in one of its own.
func TestPackagesRun(t *testing.T) {
	t.Parallel()
	c := warmNode(t, runner.Spec{})
	p, open, _ := runnertest.PackageOf("run", 7, runPackage)
	ensure(t, c, p, open, len(runPackage))
	at := p.Path
	for _, k := range []struct {
		argv []string
		want string
	}{
		{[]string{"python3", "main.py", "a", "ü"}, "helper words wordshelper AT AT AT/main.py AT/helper.py ['main.py', 'a', 'ü'] True\ndata data within words\n" +
			strings.Repeat("PermissionError\n", 4) + "/tmp AT/tools AT\n ['data', 'data.json', 'helper.py', 'lib', 'main.js', 'main.mjs', 'main.py', 'node_modules', 'pool.py', 'tools', 'typed', 'words'] False\n"},
		{[]string{"python3", "./tools/other.py"}, "AT/tools AT\n"},
		{[]string{"python3", at + "/tools/other.py"}, "AT/tools AT\n"},
		{[]string{"python3", "pool.py"}, "fork [('helper', 0), ('helper', 1)]\nspawn [('helper', 0), ('helper', 1)]\nforkserver [('helper', 0), ('helper', 1)]\n"},
		{[]string{"python3", "-m", "words"}, "words AT words\n"},
		{[]string{"node", "main.js", "a", "ü"}, "lib lib more dep of the package [ 1 ] AT AT/main.js AT [ 'AT/main.js', 'a', 'ü' ] true AT/node_modules\nEACCES\nEACCES\nEACCES\nesm lib more 12\n"},
		{[]string{"node", "main.mjs", "a"}, "esm lib more lib dep of the package data file://AT/main.mjs AT [ 'AT/main.mjs', 'a' ]\n"},
		{[]string{"node", "typed/main.js"}, "typed file://AT/typed/main.js\n"},
	} {
		call := runnertest.PackageCall(p, k.argv...)
		for _, fresh := range []bool{false, true} {
			pid := waiting(t, c)
			call.Fresh = fresh
			res, out := runnertest.Run(t, c, call)
			if got := strings.ReplaceAll(out.Stdout.String(), at, "AT"); res.ExitCode != 0 || got != k.want || out.Stderr.Len() > 0 {
				t.Errorf("%q, fresh %v: %+v\n%s%s\nand not\n%s", k.argv, fresh, res, got, out.Stderr.String(), k.want)
			}
			if used := waiting(t, c) != pid; k.argv[0] == "node" && used == fresh {
				t.Errorf("%q, fresh %v: the node that waits was used: %v", k.argv, fresh, used)
			}
		}
		ensure(t, c, p, open, 0)
	}
	// An interpreter that was started ahead has the arguments of the init's.
	began, open, _ := runnertest.PackageOf("began", 1, map[string]string{"main.py": "print('import os' in open('/proc/self/cmdline').read())\n"})
	ensure(t, c, began, open, 1)
	for _, fresh := range []bool{false, true} {
		call := runnertest.PackageCall(began, "python3", "main.py")
		call.Fresh = fresh
		call.Env = append(call.Env, "PYTHONPATH=/workspace/.packages/python", "NODE_PATH=/workspace/.packages/node", "ARTIFIC_OUTPUTS=/workspace/.calls/1/outputs")
		if _, out := runnertest.Run(t, c, call); out.Stdout.String() != map[bool]string{false: "True\n", true: "False\n"}[fresh] {
			t.Errorf("fresh %v: it was started ahead: %s", fresh, fmt.Sprint(out.Stdout.String(), out.Stderr.String()))
		}
	}
}

// plants leaves code in every place where a program's start, or what it imports, might look for some.
const plants = `import os, site, sys
def put(path, text):
    try: os.makedirs(os.path.dirname(path), exist_ok=True); open(path, "w").write(text)
    except OSError as e: print(e.strerror, path)
home = os.environ["HOME"]
said = "import sys; sys.stderr.write('planted: ' + __name__ + '\\n')\n"
for base in home + "/.local", "/workspace/.local":
    at = base + "/lib/python%d.%d/site-packages/" % sys.version_info[:2]
    put(at + "a.pth", said)
    for name in "usercustomize", "sitecustomize", "absent", "json", "helper": put(at + name + ".py", said)
for d in "/workspace", "/home", home, "/tmp", "/", "/scripts", "/scripts/planted":
    for name in "absent", "json", "usercustomize": put(d + "/" + name + ".py", said)
    put(d + "/package.json", '{"type": "module", "imports": ')
    for n in "node_modules", ".node_modules", ".node_libraries":
        put(d + "/" + n + "/absent/index.js", "console.error('planted: ' + __filename)")
`

// What one program leaves is no part of another one's package: no code of it runs there, whichever interpreter runs it.
func TestContainPlanted(t *testing.T) {
	t.Parallel()
	c := warmNode(t, runner.Spec{})
	p, open, _ := runnertest.PackageOf("planted", 1, map[string]string{
		"main.py": "import json, os, subprocess, sys\ntry: import absent\nexcept ImportError as e: print(e)\n" +
			"print(json.dumps([1]), [p for p in sys.path if p.startswith(('/home', '/workspace', '/tmp'))], os.listdir(os.path.expanduser('~')))\n" +
			"for c in [sys.executable, '-c', 'import json; print(json.loads(\"1\"))'], ['node', 'child.js']: print(subprocess.run(c, capture_output=True))\n",
		"child.js": "try { require('absent') } catch (e) { console.log(e.code) }\n",
		"main.js":  "try { require('absent') } catch (e) { console.log(e.code) }\nconsole.log(require('child_process').execFileSync('node', ['child.js']).toString());\nimport('absent').catch((e) => console.log(e.code))",
		"main.mjs": "import { createRequire } from 'node:module';\ntry { createRequire(import.meta.url)('absent') } catch (e) { console.log(e.code) }\ntry { await import('absent') } catch (e) { console.log(e.code) }",
	})
	ensure(t, c, p, open, 4)
	planted := runnertest.Python(plants)
	if res, out := runnertest.Run(t, c, planted); res.ExitCode != 0 || strings.Contains(out.Stdout.String(), " /workspace/") {
		t.Fatalf("%+v %s%s", res, out.Stdout.String(), out.Stderr.String())
	}
	for _, k := range []struct{ file, want string }{
		{"main.py", "No module named 'absent'\n[1] [] []\nCompletedProcess(args=['/usr/bin/python3', '-c', 'import json; print(json.loads(\"1\"))'], returncode=0, stdout=b'1\\n', stderr=b'')\n" +
			"CompletedProcess(args=['node', 'child.js'], returncode=0, stdout=b'MODULE_NOT_FOUND\\n', stderr=b'')\n"},
		{"main.js", "MODULE_NOT_FOUND\nMODULE_NOT_FOUND\n\nERR_MODULE_NOT_FOUND\n"}, {"main.mjs", "MODULE_NOT_FOUND\nERR_MODULE_NOT_FOUND\n"},
	} {
		for _, fresh := range []bool{false, true} {
			call := runnertest.PackageCall(p, map[bool]string{true: "python3", false: "node"}[strings.HasSuffix(k.file, ".py")], k.file)
			home := runner.Calls + "/" + strings.ReplaceAll(k.file, ".", "_") + map[bool]string{true: "_fresh"}[fresh]
			call.Files = append(call.Files, runner.FileChange{Op: runner.FileMkdir, Path: home + "/home", Mode: 0o755, UID: runner.ScriptUser, GID: runner.ScriptUser})
			call.Env, call.Fresh = append(call.Env, "HOME="+home+"/home"), fresh
			res, out := runnertest.Run(t, c, call)
			if res.ExitCode != 0 || out.Stdout.String() != k.want || out.Stderr.Len() > 0 {
				t.Errorf("%s, fresh %v: %+v\n%s%s\nand not\n%s", k.file, fresh, res, out.Stdout.String(), out.Stderr.String(), k.want)
			}
		}
	}
	// It is there for whose code it is: Python's is as anywhere.
	own := runnertest.Python("import absent")
	if _, out := runnertest.Run(t, c, own); !strings.Contains(out.Stderr.String(), "planted: absent") {
		t.Errorf("nothing was planted: %s", out.Stderr.String())
	}
}
