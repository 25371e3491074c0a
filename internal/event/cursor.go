package event

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Cursor is a Position of one topic as clients see it: opaque base64url text.
type Cursor string

const (
	cursorVersion = 1
	bindingLength = 8
	cursorHeader  = 1 + bindingLength + 8
	// maxEpoch is the longest name of an epoch, in bytes.
	maxEpoch = 64
)

var cursorText = base64.RawURLEncoding.Strict()

// binding ties a cursor to its topic. It protects from mix-ups, not from forgery: a forged cursor reads nothing that its owner
// may not read anyway.
type binding [bindingLength]byte

func bind(topic Topic) (b binding) {
	sum := sha256.Sum256([]byte(topic))
	copy(b[:], sum[:])
	return b
}

func (b binding) cursor(p Position) Cursor {
	raw := make([]byte, cursorHeader, cursorHeader+len(p.Epoch))
	raw[0] = cursorVersion
	copy(raw[1:], b[:])
	binary.BigEndian.PutUint64(raw[1+bindingLength:], uint64(p.Offset))
	return Cursor(cursorText.EncodeToString(append(raw, p.Epoch...)))
}

// NewCursor is the cursor of a position on a topic. Offset 0 stands before the first event.
func NewCursor(topic Topic, p Position) Cursor { return bind(topic).cursor(p) }

// Parse reads a cursor of the topic. Any text that NewCursor does not make for this topic is ErrBadCursor.
func (c Cursor) Parse(topic Topic) (Position, error) {
	if len(c) > cursorText.EncodedLen(cursorHeader+maxEpoch) {
		return Position{}, ErrBadCursor
	}
	raw, err := cursorText.DecodeString(string(c))
	if err != nil || len(raw) < cursorHeader || raw[0] != cursorVersion {
		return Position{}, ErrBadCursor
	}
	p := Position{
		Epoch:  string(raw[cursorHeader:]),
		Offset: int64(binary.BigEndian.Uint64(raw[1+bindingLength:])),
	}
	// Making it again is the strict part: the topic's binding, and line breaks that the decoder passes over.
	if p.Offset < 0 || NewCursor(topic, p) != c {
		return Position{}, ErrBadCursor
	}
	return p, nil
}
