package upload

import (
	"context"
	"io"
)

// Upload is a file that came with a request (SDL: Upload).
type Upload struct {
	// Filename and ContentType are what the client says, unchecked.
	Filename, ContentType string
	// Size is how many bytes there are.
	Size int64
	// Content reads them, from wherever it is moved to. It is closed when the request has been answered.
	Content io.ReadSeeker
}

type uploadsKey struct{}

// With puts the uploads of a request into its context, each under a name that only this request has.
func With(ctx context.Context, uploads map[string]*Upload) context.Context {
	return context.WithValue(ctx, uploadsKey{}, uploads)
}

// Named answers the request's upload of the name, nil where there is none.
func Named(ctx context.Context, name string) *Upload {
	uploads, _ := ctx.Value(uploadsKey{}).(map[string]*Upload)
	return uploads[name]
}
