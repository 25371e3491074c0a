package playground

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed index.html example.graphql assets
var files embed.FS

// types are the media types of what is served, by extension.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".txt": "text/plain; charset=utf-8", ".graphql": "application/graphql; charset=utf-8",
}

// file is one thing that is served.
type file struct {
	body        []byte
	zipped      func() []byte
	media, etag string
}

// Handler serves the page at /playground, and what it needs below. endpoint is the path of the API.
func Handler(endpoint string) http.Handler {
	served := map[string]*file{"/playground": newFile("index.html", page(endpoint))}
	served["/playground/"] = served["/playground"]
	for _, name := range []string{"example.graphql", "assets/playground.js", "assets/playground.css", "assets/LICENSES.txt"} {
		body, err := files.ReadFile(name)
		if err != nil {
			panic("playground: " + err.Error()) // it is embedded
		}
		served["/playground/"+path.Base(name)] = newFile(name, body)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := served[r.URL.Path]
		if f == nil {
			http.NotFound(w, r)
			return
		}
		f.serve(w, r)
	})
}

// page writes the page for an endpoint.
func page(endpoint string) []byte {
	var b bytes.Buffer
	if err := template.Must(template.ParseFS(files, "index.html")).Execute(&b, endpoint); err != nil {
		panic("playground: " + err.Error())
	}
	return b.Bytes()
}

func newFile(name string, body []byte) *file {
	zipped := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body) // a buffer takes everything
		_ = w.Close()
		return b.Bytes()
	})
	sum := sha256.Sum256(body)
	return &file{body: body, zipped: zipped, media: types[path.Ext(name)], etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	head.Set("Content-Type", f.media)
	head.Set("Content-Security-Policy", policy(r.Host))
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-cache")
	head.Set("ETag", f.etag)
	head.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body = f.zipped()
		head.Set("Content-Encoding", "gzip")
	}
	head.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body)
	}
}

// policy lets the page talk to its own server only. The server's WebSockets are named: not every browser takes 'self' for them. Styles are set
// by GraphiQL's editor as it goes.
func policy(host string) string {
	sockets := ""
	if !strings.ContainsAny(host, " ;,'\"\r\n") {
		sockets = fmt.Sprintf(" ws://%s wss://%s", host, host)
	}
	return "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
		"connect-src 'self'" + sockets + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
