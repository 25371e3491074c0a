package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The socket between the server and the runner process carries packets (SOCK_SEQPACKET), each one JSON value of a
// bounded size, with descriptors where a call brings its pipes.

const (
	maxPacket  = 64 << 10
	maxWord    = 256 << 10 // of the init's: its own compiled code
	maxFiles   = 4
	maxMessage = 4 << 10 // of an error's text
)

type op string

const (
	opCheck     op = "check"
	opStart     op = "start"
	opFiles     op = "files"   // + payload
	opPackage   op = "package" // + payload
	opRead      op = "read"    // + payload, and where entries are written
	opCall      op = "call"    // + payload, stdin, stdout, stderr
	opCancel    op = "cancel"  // Seq is the call's
	opProcesses op = "processes"
	opClose     op = "close"
)

// request is what the server sends.
type request struct {
	Op       op
	Seq      uint64
	Computer string        `json:",omitempty"`
	Spec     *Spec         `json:",omitempty"`
	Length   int64         `json:",omitempty"` // of the payload
	Timeout  time.Duration `json:",omitempty"`
}

// fault names one of this package's errors on the wire.
type fault string

const (
	faultNone          fault = ""
	faultNotConfigured fault = "not_configured"
	faultUnavailable   fault = "unavailable"
	faultLost          fault = "lost"
	faultClosed        fault = "closed"
	faultFile          fault = "file"
	faultInvalid       fault = "invalid"
)

// response is what the runner process answers; with Gone it tells that a computer went away though nobody closed it, and why, if that is known.
type response struct {
	Seq         uint64        `json:",omitempty"`
	Gone        string        `json:",omitempty"`
	Fault       fault         `json:",omitempty"`
	Message     string        `json:",omitempty"`
	Index       int           `json:",omitempty"` // of the change that failed
	Full        bool          `json:",omitempty"`
	Removed     []string      `json:",omitempty"`
	Missing     []int         `json:",omitempty"` // files of a package that are to be written
	Dropped     int           `json:",omitempty"` // what was in its folder and is not its own
	Result      *Result       `json:",omitempty"`
	Report      *Report       `json:",omitempty"`
	Build       string        `json:",omitempty"` // of the runner process
	Isolation   *Isolation    `json:",omitempty"` // of a computer that was started
	Confinement *Confinement  `json:",omitempty"` // of a computer that was started
	Remaining   int           `json:",omitempty"` // processes of the call, when its end was told
	Ending      bool          `json:",omitempty"` // the computer is about to be gone: no other call is for it
	Processes   []ProcessInfo `json:",omitempty"`
}

// err is a response's fault as an error, but for those of files.
func (r *response) err() error {
	base := map[fault]error{faultNotConfigured: ErrNotConfigured, faultUnavailable: ErrUnavailable, faultLost: ErrLost,
		faultClosed: ErrClosed, faultInvalid: ErrInvalid}[r.Fault]
	switch {
	case r.Fault == faultNone:
		return nil
	case base == nil:
		return fmt.Errorf("%w: %s", ErrUnavailable, r.Message)
	case r.Message == "":
		return base
	}
	return fmt.Errorf("%w: %s", base, strings.TrimPrefix(r.Message, base.Error()+": "))
}

func failed(f fault, err error) response {
	m := ""
	if err != nil {
		m = err.Error()
	}
	return response{Fault: f, Message: m[:min(len(m), maxMessage)]}
}

// wire is one end of the socket. Reading is one goroutine's; writing is anyone's.
type wire struct {
	conn *net.UnixConn
	mu   sync.Mutex
}

// newWire takes over a descriptor of a packet socket.
func newWire(f *os.File) (*wire, error) {
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("not a unix socket"), c.Close())
	}
	return &wire{conn: u}, nil
}

// packetPair makes two connected packet sockets: ours as a wire, and theirs as a file for another process.
func packetPair() (ours *wire, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	mine := os.NewFile(uintptr(fds[0]), "socket")
	theirs = os.NewFile(uintptr(fds[1]), "socket")
	ours, err = newWire(mine)
	if err = errors.Join(err, mine.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// send writes one packet with descriptors, which stay the caller's.
func (w *wire) send(b []byte, files ...*os.File) error {
	if len(b) > maxPacket {
		return fmt.Errorf("a packet of %d bytes", len(b))
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = rawFd(f)
		}
		rights = unix.UnixRights(fds...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.conn.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	_, _, err := w.conn.WriteMsgUnix(b, rights, nil)
	return err
}

func (w *wire) sendJSON(v any, files ...*os.File) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.send(b, files...)
}

// receive reads one packet into b; the descriptors are the caller's. io.EOF: the other side is gone.
func (w *wire) receive(b []byte) (int, []*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, flags, _, err := w.conn.ReadMsgUnix(b, oob)
	if err != nil {
		return 0, nil, err
	}
	var files []*os.File
	if oobn > 0 {
		files = parseRights(oob[:oobn])
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		closeAll(files)
		return 0, nil, errors.New("a packet larger than agreed")
	}
	if n == 0 && len(files) == 0 {
		return 0, nil, io.EOF
	}
	return n, files, nil
}

func parseRights(oob []byte) (files []*os.File) {
	ms, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range ms {
		fds, err := unix.ParseUnixRights(&ms[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// rawFd is a file's descriptor, with its blocking mode left alone.
func rawFd(f *os.File) int {
	fd := -1
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(v uintptr) { fd = int(v) })
	}
	return fd
}
