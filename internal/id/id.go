package id

import (
	"strings"

	"github.com/google/uuid"
)

// Kind is an id's prefix, without the underscore.
type Kind string

// The kinds of ids.
const (
	Organization Kind = "org"
	Key          Kind = "key"
	Agent        Kind = "agt"
	Script       Kind = "scr"
	Version      Kind = "ver"
	Run          Kind = "run"
	Snapshot     Kind = "snp"
	Call         Kind = "call"
	Change       Kind = "chg"
	File         Kind = "file"
	Artifact     Kind = "art"
	Approval     Kind = "apv"
	// Server names a server in leases; it is no id of the API.
	Server Kind = "srv"
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// length is the number of characters behind the underscore: 128 bits in groups of five.
const length = 26

// New makes an id of the kind.
func New(k Kind) string {
	return string(k) + "_" + encode(uuid.Must(uuid.NewV7()))
}

// Is says whether s has the shape of an id of the kind. It says nothing about whether such a thing exists.
func Is(k Kind, s string) bool {
	rest, ok := strings.CutPrefix(s, string(k)+"_")
	if !ok || len(rest) != length || rest[0] > '7' {
		return false
	}
	return strings.Trim(rest, alphabet) == ""
}

// KindOf answers the kind of an id, or "" where s has the shape of none.
func KindOf(s string) Kind {
	prefix, _, ok := strings.Cut(s, "_")
	if !ok || !Is(Kind(prefix), s) {
		return ""
	}
	return Kind(prefix)
}

// encode writes 128 bits as 26 characters, the first of which holds three bits.
func encode(u [16]byte) string {
	var out [length]byte
	acc, bits := uint(0), 2 // two leading zero bits make 130 = 26 × 5
	n := 0
	for _, b := range u {
		acc, bits = acc<<8|uint(b), bits+8
		for bits >= 5 {
			bits -= 5
			out[n] = alphabet[acc>>bits&31]
			n++
		}
	}
	return string(out[:])
}

// Node is anything that has a global id (SDL: interface Node).
type Node any

// Only answers those of the ids that have the shape of an id of the kind: what a client sent may hold anything.
func Only(k Kind, ids []string) []string {
	var only []string
	for _, s := range ids {
		if Is(k, s) {
			only = append(only, s)
		}
	}
	return only
}
