package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	keyBytes = 32
	// overhead is what a sealed value has more than the value: a nonce and a tag.
	overhead = 12 + 16
	// maxKeys is how many keys a file has at most: the one in use and older ones.
	maxKeys = 16
)

// Keyring seals values with its first key, and opens what any of its keys sealed.
type Keyring struct{ keys []sealingKey }

// sealingKey is one key. Its id says which one it is, and nothing about it.
type sealingKey struct {
	id   string
	aead cipher.AEAD
}

// place is where a sealed value belongs: at another one it does not open.
type place struct{ organizationID, agentID, name string }

// bytes are the place as additional data; no part can hold the NUL between them.
func (p place) bytes() []byte {
	return []byte("scriptorium secret 1\x00" + p.organizationID + "\x00" + p.agentID + "\x00" + p.name)
}

// errUnknownKey: a value was sealed with a key that this server does not have.
var errUnknownKey = errors.New("secret: sealed with a key that this server does not have: all servers need the same --secrets-key")

// ParseKeyring reads a file of keys: one a line, 32 bytes in base64, the one in use first. Blank lines and lines that begin with # say nothing.
// Its errors do not repeat what is in the file.
func ParseKeyring(text string) (*Keyring, error) {
	k := &Keyring{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != keyBytes {
			return nil, fmt.Errorf("key %d is not %d bytes in base64 (openssl rand -base64 %d makes one)", len(k.keys)+1, keyBytes, keyBytes)
		}
		key, err := newKey(raw)
		if err != nil {
			return nil, err
		}
		if k.has(key.id) {
			return nil, fmt.Errorf("key %d is there twice", len(k.keys)+1)
		}
		if k.keys = append(k.keys, key); len(k.keys) > maxKeys {
			return nil, fmt.Errorf("there are more than %d keys", maxKeys)
		}
	}
	if len(k.keys) == 0 {
		return nil, fmt.Errorf("there is no key (openssl rand -base64 %d makes one)", keyBytes)
	}
	return k, nil
}

// newKeyText makes a key, as a line of a file.
func newKeyText() string {
	raw := make([]byte, keyBytes)
	_, _ = rand.Read(raw) // never fails
	return base64.StdEncoding.EncodeToString(raw) + "\n"
}

func newKey(raw []byte) (sealingKey, error) {
	id, err := hkdf.Key(sha256.New, raw, nil, "scriptorium secret key id", 8)
	if err != nil {
		return sealingKey{}, err
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return sealingKey{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealingKey{hex.EncodeToString(id), aead}, err
}

// IDs are the ids of the keys, the one in use first.
func (k *Keyring) IDs() []string {
	ids := make([]string, len(k.keys))
	for i, key := range k.keys {
		ids[i] = key.id
	}
	return ids
}

func (k *Keyring) has(id string) bool {
	return slices.ContainsFunc(k.keys, func(key sealingKey) bool { return key.id == id })
}

// seal encrypts a value for a place, with the first key.
func (k *Keyring) seal(p place, value string) (keyID string, sealed []byte) {
	return k.keys[0].id, k.keys[0].aead.Seal(nil, nil, []byte(value), p.bytes())
}

// open decrypts what was sealed for a place with the key of the id.
func (k *Keyring) open(p place, keyID string, sealed []byte) (string, error) {
	for _, key := range k.keys {
		if key.id != keyID {
			continue
		}
		value, err := key.aead.Open(nil, nil, sealed, p.bytes())
		if err != nil {
			return "", fmt.Errorf("secret: the value of %s of agent %s was changed in the database, or is not its own: %w", p.name, p.agentID, err)
		}
		return string(value), nil
	}
	return "", fmt.Errorf("%w (key %s, of %s of agent %s)", errUnknownKey, keyID, p.name, p.agentID)
}
