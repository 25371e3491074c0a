package runner

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
)

//go:embed *.go *.py
var sources embed.FS

// Build names the sources that this package was built from. A server and its runner process are two binaries; they compare their builds, so
// that one that was left behind is found at the start and not by what it does otherwise.
var Build = sync.OnceValue(func() string {
	h := sha256.New()
	_ = fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := sources.ReadFile(name)
		h.Write([]byte(name + "\x00"))
		h.Write(b)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))
})

// fileDigest is a file's "sha256:" and 64 hexadecimal digits.
func fileDigest(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
