package output

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// A spool file, and the blob that it becomes, is spoolMagic and then a frame for each chunk: four bytes of the payload's length,
// four of the CRC-32C of what follows, eight of the number, the payload. Numbers go 1, 2, 3 …: they are the events' offsets.
const (
	spoolMagic  = "outlog\x00\x01"
	frameHeader = 4 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newFrame makes the frame of a chunk, and its payload, which is a part of the same memory.
func newFrame(number int64, c Chunk) (frame, payload []byte) {
	frame = make([]byte, frameHeader, frameHeader+chunkHeader+len(c.Data))
	frame = c.appendTo(frame)
	payload = frame[frameHeader:]
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	binary.BigEndian.PutUint64(frame[8:], uint64(number))
	binary.BigEndian.PutUint32(frame[4:], crc32.Checksum(frame[8:], castagnoli))
	return frame, payload
}

// errTorn: the bytes from here on are no frame, or not the next one. Behind a crash that is the end of what was kept.
var errTorn = errors.New("output: the log is torn")

// frames reads a log from the start, or from the position of a frame.
type frames struct {
	r *bufio.Reader
	mark
}

// mark is a place between frames of a log; the zero value is its start.
type mark struct {
	number int64 // of the frame before
	size   int64 // the position behind it
}

// framesAt reads on from a mark, where r begins.
func framesAt(r io.Reader, at mark) *frames {
	return &frames{r: bufio.NewReaderSize(r, 64<<10), mark: at}
}

// next reads a frame. At the end of the log it answers io.EOF, and errTorn where there is something else than the next frame.
func (f *frames) next() (event.Event, error) {
	if f.size == 0 {
		magic := make([]byte, len(spoolMagic))
		if _, err := io.ReadFull(f.r, magic); err != nil {
			return event.Event{}, torn(err)
		}
		if string(magic) != spoolMagic {
			return event.Event{}, errTorn
		}
		f.size = int64(len(magic))
	}
	var header [frameHeader]byte
	if _, err := io.ReadFull(f.r, header[:]); err != nil {
		return event.Event{}, torn(err)
	}
	length := binary.BigEndian.Uint32(header[:])
	number := int64(binary.BigEndian.Uint64(header[8:]))
	if length <= chunkHeader || length > chunkHeader+MaxChunk || number != f.number+1 {
		return event.Event{}, errTorn
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(f.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return event.Event{}, torn(err)
	}
	sum := crc32.Update(crc32.Checksum(header[8:], castagnoli), castagnoli, payload)
	if sum != binary.BigEndian.Uint32(header[4:]) {
		return event.Event{}, errTorn
	}
	f.number = number
	f.size += frameHeader + int64(length)
	return event.Event{Offset: number, Payload: payload}, nil
}

func torn(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return err
}

// page reads up to limit events behind an offset. A torn end is the end.
func (f *frames) page(after int64, limit int) ([]event.Event, error) {
	var events []event.Event
	for len(events) < limit {
		e, err := f.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
		if e.Offset > after {
			events = append(events, e)
		}
	}
	return events, nil
}
