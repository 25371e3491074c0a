package runner

import (
	"encoding/binary"
	"net"
)

// payload is what the init reads from a call's first pipe: changes of files, then, for a call, the program. It is a
// list of pieces, so that contents are not copied.
type payload struct {
	pieces net.Buffers
	head   []byte
	length int64
}

func (p *payload) num(n int64) {
	p.head = binary.LittleEndian.AppendUint64(p.head, uint64(n))
}

func (p *payload) bytes(b []byte) {
	p.num(int64(len(b)))
	if len(b) < 4096 {
		p.head = append(p.head, b...)
		return
	}
	p.flush()
	p.pieces = append(p.pieces, b)
	p.length += int64(len(b))
}

func (p *payload) list(l []string) {
	p.num(int64(len(l)))
	for _, s := range l {
		p.bytes([]byte(s))
	}
}

func (p *payload) flush() {
	if len(p.head) > 0 {
		p.pieces = append(p.pieces, p.head)
		p.length += int64(len(p.head))
		p.head = nil
	}
}

func (p *payload) files(changes []FileChange) {
	p.num(int64(len(changes)))
	for i := range changes {
		c := &changes[i]
		p.bytes([]byte(c.Op))
		p.bytes([]byte(c.Path))
		p.num(int64(c.Mode))
		p.num(int64(c.UID))
		p.num(int64(c.GID))
		p.bytes(c.Content)
		p.bytes([]byte(c.Suffix))
		p.bytes([]byte(c.Target))
		p.list(c.Keep)
	}
}

// filesPayload encodes changes alone.
func filesPayload(changes []FileChange) *payload {
	p := &payload{}
	p.files(changes)
	p.flush()
	return p
}

// callPayload encodes a call.
func callPayload(c Call) *payload {
	p := &payload{}
	p.files(c.Files)
	p.list(c.Argv)
	p.list(c.Env)
	p.bytes([]byte(c.Dir))
	fresh := int64(0)
	if c.Fresh {
		fresh = 1
	}
	p.num(fresh)
	for _, v := range []int64{c.Limits.AddressSpaceBytes, c.Limits.FileSizeBytes, int64(c.Limits.OpenFiles), int64(c.Limits.Processes)} {
		p.num(v)
	}
	p.bytes([]byte(c.Outputs))
	p.flush()
	return p
}
