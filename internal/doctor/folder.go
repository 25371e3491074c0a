package doctor

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is a folder that is there, or is to be made.
type Folder struct {
	Path string
	// Exists is false where the server would make it.
	Exists bool
	// Writable is false where this process can make no files in it, or cannot make it.
	Writable bool
	// Free is how many bytes there are for this user where it is; -1 unknown.
	Free int64
}

// ReadFolder looks at a folder, or, where it is not there, at what it would be made in. Nothing is written.
func ReadFolder(name string) Folder {
	abs, err := filepath.Abs(name)
	if err != nil {
		return Folder{Path: name, Free: -1}
	}
	f := Folder{Path: abs, Free: -1}
	at := abs
	for {
		st, err := os.Stat(at)
		if err == nil {
			f.Exists = at == abs
			f.Writable = st.IsDir() && unix.Access(at, unix.W_OK|unix.X_OK) == nil
			break
		}
		up := filepath.Dir(at)
		if up == at || !os.IsNotExist(err) {
			return f
		}
		at = up
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err == nil {
		f.Free = int64(fs.Bavail) * fs.Bsize
	}
	return f
}
