package main

import (
	"net/http"
	"path"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/file"
)

// routeBytes adds the routes of bytes that are kept: uploads and what runs were given, files of versions, artifacts. HEAD works wherever GET does.
func (s *server) routeBytes(mux *http.ServeMux) {
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/calls/{id}/output":             s.callOutput,
		"/files/{id}":                    s.fileBytes,
		"/versions/{id}/files/{path...}": s.versionFileBytes,
		"/artifacts/{id}":                s.artifactBytes,
	} {
		mux.Handle("GET "+pattern, graph.CORS(s.config.AllowedOrigins, s.edge.Route(serve)))
		mux.Handle("OPTIONS "+pattern, graph.CORS(s.config.AllowedOrigins, http.HandlerFunc(byteMethods)))
	}
}

// byteMethods answers OPTIONS where it is no preflight request.
func byteMethods(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", "GET, HEAD, OPTIONS")
	w.WriteHeader(http.StatusNoContent)
}

// fileBytes answers GET /files/<id>.
func (s *server) fileBytes(w http.ResponseWriter, r *http.Request) error {
	f, err := s.words.Files.Read(r.Context(), r.PathValue("id"))
	if err != nil || f == nil {
		return missing(err)
	}
	return s.words.Files.ServeContent(w, r, file.Content{SHA256: f.SHA256, Size: int64(f.Size)}, f.Filename, f.ContentType)
}

// versionFileBytes answers GET /versions/<id>/files/<path> (S2-fget). What a file of a package is, nobody says: it is bytes.
func (s *server) versionFileBytes(w http.ResponseWriter, r *http.Request) error {
	f, err := s.words.Scripts.FileOf(r.Context(), r.PathValue("id"), r.PathValue("path"))
	if err != nil || f == nil {
		return missing(err)
	}
	return s.words.Files.ServeContent(w, r, file.Content{SHA256: f.SHA256, Size: f.Size}, path.Base(f.Path), "application/octet-stream")
}

// artifactBytes answers GET /artifacts/<id> (S2-art).
func (s *server) artifactBytes(w http.ResponseWriter, r *http.Request) error {
	a, err := s.words.Artifacts.Read(r.Context(), r.PathValue("id"))
	if err != nil || a == nil {
		return missing(err)
	}
	return s.words.Files.ServeContent(w, r, file.Content{SHA256: a.SHA256, Size: int64(a.Size)}, a.Name(), a.ContentType)
}

// missing is why bytes cannot be had: an error, or that there is nothing of that id that the key may see.
func missing(err error) error {
	if err != nil {
		return err
	}
	return fault.NewProblem(fault.Missing, "there is no such file")
}
