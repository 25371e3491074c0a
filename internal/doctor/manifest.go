package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Manifest is what the file beside an image says of it: computer.json beside computer.erofs.
type Manifest struct {
	// Digest is the image's, Size its bytes.
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// Release is what its packages come from.
	Release string `json:"release"`
	// LeftOut are packages that were wanted and are not in it.
	LeftOut []string `json:"left_out"`
}

// maxManifest bounds the bytes of a manifest.
const maxManifest = 4 << 20

// ReadManifest reads the manifest beside an image; nil where there is none.
func ReadManifest(image string) (*Manifest, error) {
	name := strings.TrimSuffix(image, filepath.Ext(image)) + ".json"
	st, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil || len(b) > maxManifest {
		return nil, fmt.Errorf("%s is not the manifest of an image", name)
	}
	return &m, nil
}
