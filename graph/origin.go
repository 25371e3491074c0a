package graph

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// origins decides which browser pages may call. A caller without an Origin header is no page, and may.
type origins struct {
	any     bool
	allowed []string
}

func newOrigins(allowed []string) origins {
	o := origins{any: slices.Contains(allowed, "*")}
	for _, a := range allowed {
		o.allowed = append(o.allowed, strings.ToLower(strings.TrimSuffix(a, "/")))
	}
	return o
}

// permits reports whether the page that made the request may call: it is the server's own, or an allowed one.
func (o origins) permits(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || o.any {
		return true
	}
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return true
	}
	return slices.Contains(o.allowed, strings.ToLower(origin))
}

// CORS answers preflight requests and lets pages of the allowed origins ("*" is any) read the answers of next. Other pages get no
// header, so their browser keeps the answer from them.
func CORS(allowed []string, next http.Handler) http.Handler {
	o := newOrigins(allowed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.headers(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// headers sets the CORS headers, and reports whether the request was a preflight that is answered with them.
func (o origins) headers(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	head := w.Header()
	head.Add("Vary", "Origin")
	if o.permits(r) {
		head.Set("Access-Control-Allow-Origin", origin)
		head.Set("Access-Control-Expose-Headers", "X-Request-Id, ETag, Content-Disposition, Content-Range, Accept-Ranges")
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if o.permits(r) {
		head.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
		head.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, Cache-Control, Range, If-Range, If-Match, If-None-Match")
		head.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
