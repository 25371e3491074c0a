package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

const uploadOperations = `{"query": "mutation($file: Upload!) { fileUpload(input: {file: $file}) { file { id filename size sha256 contentType url createdAt } userErrors { code message path } } }",
	"variables": {"file": null}}`

// sentFile is a file's part of a multipart request.
type sentFile struct{ part, name, kind, content string }

// multipartRequest makes a request with files: the parts operations, map (neither where it is empty), then the files.
func multipartRequest(t *testing.T, operations, places string, files ...sentFile) *http.Request {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range [][2]string{{"operations", operations}, {"map", places}} {
		if p[1] != "" {
			_ = w.WriteField(p[0], p[1])
		}
	}
	for _, f := range files {
		h := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, f.part, f.name)}}
		if f.kind != "" {
			h.Set("Content-Type", f.kind)
		}
		p, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(p, f.content)
	}
	_ = w.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Accept", "application/graphql-response+json")
	return r
}

// TestS2FilesUpload: a file is uploaded, listed, read, and deleted, and only keys with FILES may.
func TestS2FilesUpload(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		content := strings.Repeat("\x00\xffé", 100_000)
		a := worker.serve(multipartRequest(t, uploadOperations, `{"a": ["variables.file"]}`, sentFile{"a", "报告 ñ😀.bin", "application/x-thing; a=b", content}), worker.secret)
		var out struct {
			Data struct {
				FileUpload struct {
					File struct {
						ID, Filename, Sha256, ContentType, URL string
						Size                                   int
						CreatedAt                              time.Time
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != http.StatusOK {
			t.Fatal(a)
		}
		f := out.Data.FileUpload.File
		if f.Filename != "报告 ñ😀.bin" || f.Size != len(content) || f.Sha256 != hexSum(content) || f.ContentType != "application/x-thing; a=b" || f.URL != "/files/"+f.ID ||
			time.Since(f.CreatedAt) > time.Hour {
			t.Errorf("uploaded: %+v", f)
		}
		if got := worker.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, f.URL, nil), worker.secret); got.status != http.StatusOK || got.body != content {
			t.Errorf("its bytes: %d, %d bytes", got.status, len(got.body))
		}
		second := worker.upload("2")
		list := worker.must(t, worker.secret, `query($id: ID!) { files(first: 1) { nodes { id } totalCount pageInfo { hasNextPage } } file(id: $id) { filename } node(id: $id) { ... on File { size } } }`,
			map[string]any{"id": f.ID})
		if got := fmt.Sprint(list); got != "map[file:map[filename:报告 ñ😀.bin] files:map[nodes:[map[id:"+second+"]] pageInfo:map[hasNextPage:true] totalCount:2] node:map[size:"+fmt.Sprint(len(content))+"]]" {
			t.Errorf("listed: %s", got)
		}
		without := manager.key("TOOLING")
		if got := without.serve(multipartRequest(t, uploadOperations, `{"a": ["variables.file"]}`, sentFile{"a", "a", "", "a"}), without.secret); !strings.Contains(got.body, `"DENIED"`) {
			t.Errorf("without FILES: %s", got.body)
		}
		other := &shelf{&catalog{worker.testServer, t, worker.organization(t, "another"), ""}}
		if got := other.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, f.URL, nil), other.secret); got.status != http.StatusNotFound {
			t.Errorf("another organization's key reads it: %d", got.status)
		}
		if p := other.do("fileDelete", "deletedId", map[string]any{"file": f.ID}); fmt.Sprint(p["userErrors"]) == "[]" {
			t.Error("another organization's key deletes it")
		}
		worker.forget(f.ID)
		if got := worker.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, f.URL, nil), worker.secret); got.status != http.StatusNotFound {
			t.Errorf("deleted, it is answered %d", got.status)
		}
	})
}

// TestS2FilesUploadBad: what is wrong with a multipart request is told, and nothing is kept.
func TestS2FilesUploadBad(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		one := sentFile{"0", "a.txt", "text/plain", "a"}
		const two = `{"query": "mutation($a: Upload!, $b: Upload!) { a: fileUpload(input: {file: $a}) { file { id } userErrors { code } } b: fileUpload(input: {file: $b}) { file { id } userErrors { code } } }", "variables": {"a": null, "b": null}}`
		for name, c := range map[string]struct {
			operations, places string
			files              []sentFile
			status             int
			want               string
		}{
			"no operations":        {"", `{"0": ["variables.file"]}`, []sentFile{one}, 400, "operations is missing"},
			"no map":               {uploadOperations, "", []sentFile{one}, 400, "map is missing"},
			"operations no JSON":   {"{", `{"0": ["variables.file"]}`, []sentFile{one}, 400, "BAD_REQUEST"},
			"a batch":              {"[" + uploadOperations + "]", `{"0": ["0.variables.file"]}`, []sentFile{one}, 400, "must be a JSON object"},
			"an empty map":         {uploadOperations, `{}`, nil, 400, "from 1 to 10"},
			"a map that is none":   {uploadOperations, `[]`, []sentFile{one}, 400, "BAD_REQUEST"},
			"no list":              {uploadOperations, `{"0": "variables.file"}`, []sentFile{one}, 400, "list of paths"},
			"an empty list":        {uploadOperations, `{"0": []}`, []sentFile{one}, 400, "list of paths"},
			"a path elsewhere":     {uploadOperations, `{"0": ["query"]}`, []sentFile{one}, 400, "no path of a variable"},
			"a path too deep":      {uploadOperations, `{"0": ["variables.file.x"]}`, []sentFile{one}, 400, "no null at"},
			"a path to nothing":    {uploadOperations, `{"0": ["variables.other"]}`, []sentFile{one}, 400, "no null at"},
			"a path twice":         {uploadOperations, `{"0": ["variables.file"], "1": ["variables.file"]}`, []sentFile{one}, 400, "comes twice"},
			"a file that is not":   {uploadOperations, `{"1": ["variables.file"]}`, nil, 400, "did not come"},
			"a file of no place":   {uploadOperations, `{"1": ["variables.file"]}`, []sentFile{one}, 400, "not in map"},
			"a file twice":         {uploadOperations, `{"0": ["variables.file"]}`, []sentFile{one, one}, 400, "comes twice"},
			"too many":             {uploadOperations, `{"0":["variables.a"],"1":["variables.b"],"2":["variables.c"],"3":["variables.d"],"4":["variables.e"],"5":["variables.f"],"6":["variables.g"],"7":["variables.h"],"8":["variables.i"],"9":["variables.j"],"10":["variables.k"]}`, nil, 400, "from 1 to 10"},
			"long operations":      {`{"query": "` + strings.Repeat(" ", 1<<20) + `"}`, `{}`, nil, 413, "LIMIT_EXCEEDED"},
			"a long map":           {uploadOperations, `{"0": ["` + strings.Repeat("x", 20<<10) + `"]}`, nil, 413, "LIMIT_EXCEEDED"},
			"a large file":         {uploadOperations, `{"0": ["variables.file"]}`, []sentFile{{"0", "a", "", strings.Repeat("x", 32<<20+1)}}, 413, "33554432"},
			"null kept":            {two, `{"0": ["variables.a"]}`, []sentFile{one}, 400, "VALIDATION_FAILED"},
			"not null":             {strings.Replace(uploadOperations, "null", `"x"`, 1), `{"0": ["variables.file"]}`, []sentFile{one}, 400, "no null at"},
			"for an id":            {`{"query": "query($id: ID!) { file(id: $id) { id } }", "variables": {"id": null}}`, `{"0": ["variables.id"]}`, []sentFile{one}, 400, `map: \"variables.id\" is no place for a file: it is of the type ID, not Upload`},
			"for a string":         {`{"query": "mutation($i: OrganizationCreateInput!) { organizationCreate(input: $i) { secret } }", "variables": {"i": {"name": null}}}`, `{"0": ["variables.i.name"]}`, []sentFile{one}, 400, `map: \"variables.i.name\" is no place for a file: it is of the type String`},
			"for a string of many": {`{"query": "mutation($c: KeyCreateInput!) { keyCreate(input: $c) { secret } }", "variables": {"c": {"name": "x", "capabilities": [null]}}}`, `{"0": ["variables.c.capabilities.0"]}`, []sentFile{one}, 400, "of the type Capability"},
			"for an object":        {`{"query": "mutation($i: FileUploadInput!) { fileUpload(input: $i) { file { id } } }", "variables": {"i": null}}`, `{"0": ["variables.i"]}`, []sentFile{one}, 400, "of the type FileUploadInput"},
			"for JSON":             {`{"query": "mutation($j: JSON) { toolCall(input: {name: \"x\", arguments: $j}) { call { id } } }", "variables": {"j": null}}`, `{"0": ["variables.j"]}`, []sentFile{one}, 400, `\"variables.j\" is no place for a file: it is of the type JSON`},
			"inside JSON":          {`{"query": "mutation($i: ToolCallInput!) { toolCall(input: $i) { call { id } } }", "variables": {"i": {"name": "x", "arguments": {"a": [null]}}}}`, `{"0": ["variables.i.arguments.a.0"]}`, []sentFile{one}, 400, "of the type JSON"},
			"in a literal of JSON": {`{"query": "mutation($f: Upload!) { toolCall(input: {name: \"x\", arguments: {a: [$f]}}) { call { id } } }", "variables": {"f": null}}`, `{"0": ["variables.f"]}`, []sentFile{one}, 400, "toolCall.input.arguments.a.0: $f is a file, which JSON does not have"},
			"held in JSON":         {`{"query": "mutation($f: FileUploadInput!) { toolCall(input: {name: \"x\", arguments: $f}) { call { id } } }", "variables": {"f": {"file": null}}}`, `{"0": ["variables.f.file"]}`, []sentFile{one}, 400, "VALIDATION_FAILED"},
			"held in its literal":  {`{"query": "mutation($f: FileUploadInput!) { toolCall(input: {name: \"x\", arguments: {a: $f}}) { call { id } } }", "variables": {"f": {"file": null}}}`, `{"0": ["variables.f.file"]}`, []sentFile{one}, 400, "$f is a file"},
			"no variable":          {`{"query": "mutation { __typename }", "variables": {"other": null}}`, `{"0": ["variables.other"]}`, []sentFile{one}, 400, `map: \"variables.other\" is no place for a file: the operation has no such variable`},
			"no field":             {`{"query": "mutation($i: FileUploadInput!) { fileUpload(input: $i) { file { id } } }", "variables": {"i": {"other": null}}}`, `{"0": ["variables.i.other"]}`, []sentFile{one}, 400, `map: \"variables.i.other\" is no place for a file`},
		} {
			if a := worker.serve(multipartRequest(t, c.operations, c.places, c.files...), worker.secret); a.status != c.status || !strings.Contains(a.body, c.want) {
				t.Errorf("%s: %d %.300s, want %d %s", name, a.status, a.body, c.status, c.want)
			}
		}
		if a := worker.serve(multipartRequest(t, uploadOperations, `{"0": ["variables.file"]}`, one), ""); a.status != http.StatusUnauthorized {
			t.Errorf("without a key: %d %s", a.status, a.body)
		}
		for _, variable := range []any{"upload:guess", "x", 1, true, map[string]any{}, []any{}} {
			a := worker.send(t, worker.secret, `mutation($file: Upload!) { fileUpload(input: {file: $file}) { file { id } } }`, map[string]any{"file": variable})
			if !strings.Contains(a.body, `"errors"`) || strings.Contains(a.body, "INTERNAL") {
				t.Errorf("%v as JSON: %d %s", variable, a.status, a.body)
			}
		}
		whole := multipartRequest(t, uploadOperations, `{"0": ["variables.file"]}`, sentFile{"0", "a", "", strings.Repeat("a", 1000)})
		b, _ := io.ReadAll(whole.Body)
		for _, cut := range []int{0, 10, len(b) / 2, len(b) - 700, len(b) - 5} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", bytes.NewReader(b[:cut]))
			r.Header = whole.Header.Clone()
			if a := worker.serve(r, worker.secret); a.status != http.StatusBadRequest {
				t.Errorf("cut at %d of %d: %d %s", cut, len(b), a.status, a.body)
			}
		}
		if d := worker.must(t, worker.secret, `{ files { totalCount } calls { totalCount } }`, nil); at[float64](t, d, "files", "totalCount") != 0 || at[float64](t, d, "calls", "totalCount") != 0 {
			t.Errorf("kept: %v", d)
		}
	})
}

// TestS2FilesNames: a name is taken as it came, or refused: a path is no name, and 255 is a number of bytes.
func TestS2FilesNames(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		for disposition, want := range map[string]string{
			`filename="deck 1.pptx"`:                       "deck 1.pptx",
			`filename="...a"`:                              "...a",
			`filename="a\"b"`:                              `a"b`,
			`filename*=UTF-8''%E6%8A%A5%20a`:               "报 a",
			`filename="` + strings.Repeat("é", 127) + `a"`: strings.Repeat("é", 127) + "a",
			`filename="` + strings.Repeat("é", 128) + `"`:  "", // 128 characters, 256 bytes
			`filename=""`:                                  "",
			`x=y`:                                          "",
			`filename=" "`:                                 "",
			`filename="."`:                                 "",
			`filename=".."`:                                "",
			`filename="/"`:                                 "",
			`filename="a/b"`:                               "",
			`filename="../b"`:                              "",
			`filename="/etc/passwd"`:                       "",
			`filename="b/"`:                                "",
			`filename="a\\b"`:                              "",
			`filename="C:\\b.txt"`:                         "",
			`filename*=UTF-8''a%2Fb`:                       "",
			`filename*=UTF-8''a%00b`:                       "",
			`filename*=UTF-8''a%0Ab`:                       "",
			`filename*=UTF-8''a%C2%85b`:                    "", // a control character past ASCII
			`filename*=UTF-8''a%FFb`:                       "",
			"filename=\"a\tb\"":                            "",
		} {
			body := "--x\r\nContent-Disposition: form-data; name=operations\r\n\r\n" + uploadOperations + "\r\n--x\r\nContent-Disposition: form-data; name=map\r\n\r\n" +
				`{"0": ["variables.file"]}` + "\r\n--x\r\nContent-Disposition: form-data; name=\"0\"; " + disposition + "\r\n\r\nbytes\r\n--x--\r\n"
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(body))
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			a := worker.serve(r, worker.secret)
			var out struct {
				Data struct {
					FileUpload struct {
						File       *struct{ Filename string }
						UserErrors []struct{ Code string }
					}
				}
			}
			if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != http.StatusOK {
				t.Errorf("%s: %d %s", disposition, a.status, a.body)
				continue
			}
			got := out.Data.FileUpload
			refused := got.File == nil && len(got.UserErrors) == 1 && got.UserErrors[0].Code == "INVALID"
			if want == "" && !refused || want != "" && (got.File == nil || got.File.Filename != want) {
				t.Errorf("%s: %s, want %q", disposition, a.body, want)
			}
		}
	})
}

// TestS2FilesSeveral: several files of one request, one of them in two places.
func TestS2FilesSeveral(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		const document = `{"query": "mutation($a: Upload!, $b: FileUploadInput!, $c: Upload!) { a: fileUpload(input: {file: $a}) { file { sha256 } } b: fileUpload(input: $b) { file { sha256 } } c: fileUpload(input: {file: $c}) { file { sha256 } } }",
			"variables": {"a": null, "c": null, "b": {"file": null}}}`
		a := worker.serve(multipartRequest(t, document, `{"x": ["variables.a", "variables.b.file"], "y": ["variables.c"]}`, sentFile{"x", "x", "", "one"}, sentFile{"y", "y", "", "two"}), worker.secret)
		one, two := hexSum("one"), hexSum("two")
		if want := `{"data":{"a":{"file":{"sha256":"` + one + `"}},"b":{"file":{"sha256":"` + one + `"}},"c":{"file":{"sha256":"` + two + `"}}}}`; a.body != want {
			t.Errorf("%s, want %s", a.body, want)
		}
	})
}

// TestS2FcopyCollect: what is deleted is collected where nothing else refers to it; a version keeps the bytes that it copied.
func TestS2FcopyCollect(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		kept, gone := worker.upload("of a version"), worker.upload("of nothing")
		_, version := worker.creates("copies", map[string]any{"files": []any{textFile("main.py", "1"), map[string]any{"path": "copy.bin", "fileId": kept}}})
		worker.forget(kept)
		worker.forget(gone)
		files := worker.server.words.Files
		collect := func(before time.Time) int {
			n, err := files.Collect(t.Context(), before)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := collect(database.Now().Add(-time.Minute)); n != 0 {
			t.Errorf("%d were collected that somebody had just kept", n)
		}
		if n := collect(database.Now().Add(time.Minute)); n != 1 {
			t.Errorf("%d were collected, want 1", n)
		}
		if _, err := files.OpenContent(t.Context(), hexSum("of nothing"), 0, -1); err == nil {
			t.Error("what nothing refers to is kept")
		}
		got := worker.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/versions/"+version+"/files/copy.bin", nil), worker.secret)
		if got.status != http.StatusOK || got.body != "of a version" {
			t.Errorf("the version's copy: %v", got)
		}
		again := worker.upload("of nothing") // the same bytes are kept anew
		if got := worker.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/files/"+again, nil), worker.secret); got.body != "of nothing" {
			t.Errorf("uploaded again: %v", got)
		}
	})
}

// TestS2FcopyRace: the same bytes are kept, referred to, deleted and collected at once; what is there can always be read.
func TestS2FcopyRace(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		files, stop := worker.server.words.Files, make(chan struct{})
		collected := make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					collected <- nil
					return
				default:
				}
				if _, err := files.Collect(t.Context(), database.Now()); err != nil {
					collected <- err
					return
				}
			}
		}()
		read := 0
		for range 30 {
			a := worker.serve(multipartRequest(t, uploadOperations, `{"0": ["variables.file"]}`, sentFile{"0", "a", "", "the same"}), worker.secret)
			if strings.Contains(a.body, "UNAVAILABLE") { // collected between being kept and being referred to: it is said
				continue
			}
			_, rest, _ := strings.Cut(a.body, `"id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			if got := worker.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/files/"+id, nil), worker.secret); got.body != "the same" {
				t.Fatalf("%s answers %v", a.body, got)
			}
			read++
			worker.forget(id)
		}
		if read == 0 {
			t.Error("all thirty were collected before anything referred to them")
		}
		close(stop)
		if err := <-collected; err != nil {
			t.Fatal(err)
		}
	})
}

// TestUploadsLeaveNothing: no file of a request is left in the folder for temporary ones.
func TestUploadsLeaveNothing(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		worker.upload("a")
		worker.serve(multipartRequest(t, uploadOperations, `{"0": ["variables.x"]}`, sentFile{"0", "a", "", "a"}), worker.secret)
		entries, err := os.ReadDir(folder)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "upload") || strings.HasPrefix(e.Name(), "blob") {
				t.Errorf("left: %s", e.Name())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
