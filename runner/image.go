package runner

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// image is the computers' image, held open: a server goes on with the file that it described, whatever takes its name meanwhile.
type image struct {
	name     string
	file     *os.File
	size     int64
	modified time.Time
}

// openImage opens an image. A file that is none, or cannot be read, is an error that names it.
func openImage(name string) (*image, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // nobody may ever write to a FIFO
	if err != nil {
		return nil, fmt.Errorf("the computers' image: %w", err)
	}
	st, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("the computers' image: %w", err)
	case !st.Mode().IsRegular():
		err = fmt.Errorf("the computers' image is no file: %s", name)
	case !isEROFS(f):
		err = fmt.Errorf("the computers' image is not an EROFS image: %s", name)
	default:
		return &image{name, f, st.Size(), st.ModTime()}, nil
	}
	f.Close()
	return nil, err
}

// CheckImage says why a file cannot be an image of computers, as far as can be seen without booting one.
func CheckImage(name string) error {
	i, err := openImage(name)
	if err != nil {
		return err
	}
	return i.file.Close()
}

// isEROFS looks for the file system's mark; a file that cannot be read has none.
func isEROFS(f *os.File) bool {
	var mark [4]byte
	_, err := f.ReadAt(mark[:], 1024)
	return err == nil && mark == [4]byte{0xe2, 0xe1, 0xf5, 0xe0}
}

// check says that the file is not what it was when it was opened; one that only lost its name is. A nil image is no image.
func (i *image) check() error {
	if i == nil {
		return nil
	}
	st, err := i.file.Stat()
	if err != nil {
		return fmt.Errorf("the computers' image: %w", err)
	}
	if st.Size() != i.size || !st.ModTime().Equal(i.modified) {
		return fmt.Errorf("the computers' image was written to while computers are made of it: %s; start the server again, and replace an image only by "+
			"moving another file to its name", i.name)
	}
	return nil
}

func (i *image) close() {
	if i != nil {
		i.file.Close()
	}
}

// imageFd is the runner process's descriptor of the image.
const imageFd = mainSocket + 1

// heldImage is the path at which the runner process finds the image that the server holds. gVisor opens it for each sandbox, in the runner process itself.
func heldImage() string { return fmt.Sprintf("/proc/self/fd/%d", imageFd) }
