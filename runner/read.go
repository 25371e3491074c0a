package runner

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Read says what to read out of a computer: a folder's entries, and the contents of its files.
type Read struct {
	// Path is the folder, as in a FileChange. One that is not there is empty.
	Path string
	// Recursive reads the folders in it, too, each before what is in it.
	Recursive bool
	// MaxEntries bounds the entries that are told of, at most 10,000. What lies beyond is not looked at, and the report says so.
	MaxEntries int
	// MaxFiles, MaxFileBytes and MaxBytes bound the files whose contents are read, one file, and all together. A file past
	// one of them is told of without its content.
	MaxFiles               int
	MaxFileBytes, MaxBytes int64
}

// EntryType is what a name in a folder stands for.
type EntryType int

const (
	// EntryFile is a regular file.
	EntryFile EntryType = 1
	// EntryFolder is a folder.
	EntryFolder EntryType = 2
	// EntryLink is a symbolic link. It is never followed.
	EntryLink EntryType = 3
	// EntryOther is a FIFO, a socket or a device.
	EntryOther EntryType = 4
)

// Entry is one name in a folder of a computer. Everything in it is a program's doing: names may hold any bytes but NUL and /.
type Entry struct {
	// Path is relative to the folder that is read.
	Path string
	Type EntryType
	// Mode is permission bits, with setuid and setgid taken away.
	Mode uint32
	UID  int
	// Links counts a file's names: one that has several may be another's, too.
	Links int
	// Size is a file's, in bytes.
	Size int64
	// Target is where a link says that it leads, unchecked.
	Target string
}

// ReadReport tells what was read.
type ReadReport struct {
	// Entries counts those that were told of.
	Entries int
	// Truncated is true where MaxEntries was met.
	Truncated bool
}

// EntrySink takes entries in the order of their names, byte by byte, folders before what is in them. content is nil but for a file whose
// content is read; it must be used before the return, and what is left of it is skipped. An error ends the reading, and is Read's.
type EntrySink func(e Entry, content io.Reader) error

// CheckRead says why a Read would be refused; the error wraps ErrInvalid.
func CheckRead(r Read) error {
	if err := checkChange(&FileChange{Op: FilePrune, Path: r.Path}); err != nil {
		return fmt.Errorf("%w: reading %q: %w", ErrInvalid, r.Path, err)
	}
	if r.MaxEntries < 1 || r.MaxEntries > maxChanges || r.MaxFiles < 0 || r.MaxFileBytes < 0 || r.MaxBytes < 0 {
		return fmt.Errorf("%w: the bounds of reading %q", ErrInvalid, r.Path)
	}
	return nil
}

// Read implements Computer.
func (c *computer) Read(ctx context.Context, r Read, sink EntrySink) (ReadReport, error) {
	if err := CheckRead(r); err != nil {
		return ReadReport{}, err
	}
	if err := c.take(ctx); err != nil {
		return ReadReport{}, err
	}
	defer func() { <-c.turn }()
	request, feed, err := bulkPipe()
	if err != nil {
		return ReadReport{}, err
	}
	p := readPayload(r)
	_, err = p.pieces.WriteTo(feed) // short: its pipe holds it
	err = errors.Join(err, feed.Close())
	if err != nil {
		return ReadReport{}, errors.Join(err, request.Close())
	}
	out, theirs, err := halfPipe(false)
	if err != nil {
		return ReadReport{}, errors.Join(err, request.Close())
	}
	defer out.Close()
	grow(out)
	return c.readFrom(ctx, p.length, []*os.File{request, theirs}, out, sink)
}

// readFrom sends the request and takes the entries that come.
func (c *computer) readFrom(ctx context.Context, length int64, theirs []*os.File, out *os.File, sink EntrySink) (ReadReport, error) {
	seq, answer, err := c.link.post(request{Op: opRead, Computer: c.spec.ID, Length: length}, theirs...)
	closeAll(theirs)
	if err != nil {
		return ReadReport{}, err
	}
	defer c.link.forget(seq)
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	report, sunk, readErr := readEntries(out, sink)
	out.Close() // who writes to it sees that, and answers
	var resp response
	select {
	case resp = <-answer:
	case <-c.link.gone:
		return report, ErrLost
	}
	switch err := c.fault(&resp, nil); {
	case sunk != nil:
		return report, sunk
	case ctx.Err() != nil:
		return report, ctx.Err()
	case err != nil:
		return report, err
	}
	return report, readErr
}

// readPayload encodes a Read.
func readPayload(r Read) *payload {
	p := &payload{}
	p.bytes([]byte(r.Path))
	recursive := int64(0)
	if r.Recursive {
		recursive = 1
	}
	for _, n := range []int64{recursive, int64(r.MaxEntries), int64(r.MaxFiles), r.MaxFileBytes, r.MaxBytes} {
		p.num(n)
	}
	p.flush()
	return p
}

// errEntries is a stream of entries that is none.
var errEntries = fmt.Errorf("%w: it did not tell its files as agreed", ErrLost)

// readEntries reads entries until their end: sunk is the sink's error, err the stream's.
func readEntries(r io.Reader, sink EntrySink) (report ReadReport, sunk, err error) {
	in := &entryReader{r: bufio.NewReaderSize(r, 64<<10)}
	for {
		e, size := in.entry()
		if in.err != nil {
			return report, nil, in.err
		}
		if e.Type == 0 {
			report.Truncated = size == 1
			return report, nil, nil
		}
		report.Entries++
		if size < 0 {
			if sunk = sink(e, nil); sunk != nil {
				return report, sunk, nil
			}
			continue
		}
		content := &io.LimitedReader{R: in.r, N: size}
		if sunk = sink(e, content); sunk != nil {
			return report, sunk, nil
		}
		if _, err := io.Copy(io.Discard, content); err != nil || content.N > 0 {
			return report, nil, errEntries
		}
	}
}

// entryReader reads one entry after another; err is kept.
type entryReader struct {
	r   *bufio.Reader
	err error
}

func (in *entryReader) num() int64 {
	var b [8]byte
	if in.err == nil {
		if _, err := io.ReadFull(in.r, b[:]); err != nil {
			in.err = errEntries
		}
	}
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (in *entryReader) text() string {
	n := in.num()
	if in.err != nil || n < 0 || n > 64<<10 {
		in.err = errEntries
		return ""
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in.r, b); err != nil {
		in.err = errEntries
	}
	return string(b)
}

// entry reads an entry, and the size of the content that follows, -1 where none does. With type 0, the end, it is 1 where there was more.
func (in *entryReader) entry() (Entry, int64) {
	e := Entry{Type: EntryType(in.num())}
	if e.Type == 0 {
		return e, in.num()
	}
	e.Path, e.Mode, e.UID, e.Links, e.Size = in.text(), uint32(in.num())&0o1777, int(in.num()), int(in.num()), in.num()
	e.Target = in.text()
	size := in.num()
	if e.Type < EntryFile || e.Type > EntryOther || e.Path == "" || size < -1 || (size >= 0 && size != e.Size) {
		in.err = errEntries
	}
	return e, size
}
