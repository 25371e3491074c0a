package output

import (
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"
)

// Stream is one of a program's two output streams.
type Stream int

const (
	// Stdout is standard output.
	Stdout Stream = 1
	// Stderr is standard error.
	Stderr Stream = 2
)

// other is the one of the two that s is not.
func (s Stream) other() Stream { return Stdout + Stderr - s }

// MaxChunk is the most bytes that a chunk has.
const MaxChunk = 16 << 10

// Chunk is a piece of output as it is kept and streamed.
type Chunk struct {
	Stream Stream
	// Offset of the first byte in the stream's bytes, from 0.
	Offset int64
	// Other is how many bytes of the other stream were kept before.
	Other int64
	// At is when its last byte arrived, UTC, in milliseconds.
	At time.Time
	// Data has 1 to MaxChunk bytes. It is shared: do not write to it.
	Data []byte
}

// Text reads the data as UTF-8; each byte that is none becomes U+FFFD.
func (c Chunk) Text() string {
	if utf8.Valid(c.Data) {
		return string(c.Data)
	}
	return string([]rune(string(c.Data)))
}

// chunkHeader: stream, milliseconds, offset, the other stream's bytes.
const chunkHeader = 1 + 8 + 8 + 8

func (c Chunk) appendTo(b []byte) []byte {
	b = append(b, byte(c.Stream))
	b = binary.BigEndian.AppendUint64(b, uint64(c.At.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Offset))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Other))
	return append(b, c.Data...)
}

var errNoChunk = errors.New("output: not a chunk")

// DecodeChunk reads the payload of an event of the topic, the finished one excepted.
func DecodeChunk(payload []byte) (Chunk, error) {
	if len(payload) <= chunkHeader || len(payload) > chunkHeader+MaxChunk {
		return Chunk{}, errNoChunk
	}
	c := Chunk{
		Stream: Stream(payload[0]),
		At:     time.UnixMilli(int64(binary.BigEndian.Uint64(payload[1:]))).UTC(),
		Offset: int64(binary.BigEndian.Uint64(payload[9:])),
		Other:  int64(binary.BigEndian.Uint64(payload[17:])),
		Data:   payload[chunkHeader:],
	}
	if c.Stream != Stdout && c.Stream != Stderr || c.Offset < 0 || c.Other < 0 {
		return Chunk{}, errNoChunk
	}
	return c, nil
}

// halfCharacter is how many bytes at the end of p begin a UTF-8 character that is not whole yet, 0 to 3.
func halfCharacter(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
