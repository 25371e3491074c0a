package migrate

import "embed"

// Files are the folders sqlite and postgres, each with its .sql files and atlas.sum.
//
//go:embed sqlite postgres
var Files embed.FS
