package secret

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// KeyFile is the file in the data folder that holds the keys of a server that is given none.
const KeyFile = "secrets.key"

// Source says where keys come from.
type Source struct {
	// Given is --secrets-key: the path of a file with keys, or the keys themselves. Empty: File.
	Given string
	// File is secrets.key in the data folder.
	File string
}

// read answers the text of the keys, and what to call the place where it was found. missing says that File was asked for, and is not there.
func (s Source) read() (text, name string, missing bool, err error) {
	name, path := s.File, s.File
	if s.Given != "" {
		name, path = "--secrets-key", s.Given
		if _, err := ParseKeyring(s.Given); err == nil {
			return s.Given, name, false, nil
		}
	}
	b, err := os.ReadFile(path)
	if cause, ok := errors.AsType[*fs.PathError](err); ok && s.Given != "" { // what was given may be a key after all: it is not repeated
		err = fmt.Errorf("it is neither a file that can be read nor %d bytes in base64: %w", keyBytes, cause.Err)
	}
	if s.Given == "" && errors.Is(err, fs.ErrNotExist) {
		return "", name, true, nil
	}
	return string(b), name, false, err
}

// Unlock gives the service its keys. Where the file in the data folder is asked for, and missing, it is made with a new key (0600), unless there are
// secrets already. Keys that do not open all secrets in the database are refused. Nothing is changed then.
func (s *Service) Unlock(ctx context.Context, source Source) error {
	text, name, missing, err := source.read()
	if missing {
		text = newKeyText()
	}
	var keys *Keyring
	if err == nil {
		keys, err = ParseKeyring(text)
	}
	if err != nil {
		return fmt.Errorf("the key of the agents' secrets cannot be had from %s: %w", name, err)
	}
	unknown, err := unknownKeys(ctx, s.db.SQL(), keys)
	switch {
	case err != nil:
		return err
	case len(unknown) > 0 && missing:
		return fmt.Errorf("%s is missing, and the database has agents' secrets that it opens (%s): %s", name, keyList(unknown), advice)
	case len(unknown) > 0:
		return fmt.Errorf("%s (%s) does not open all of the agents' secrets in the database (%s): %s", name, keyList(keys.IDs()), keyList(unknown), advice)
	}
	if missing {
		if err := writeKey(source.File, text); err != nil {
			return fmt.Errorf("cannot write the key of the agents' secrets: %w", err)
		}
	}
	s.keys.Store(keys)
	return nil
}

const advice = `give this server the --secrets-key that they were sealed with, which all servers need; where it is lost, "scriptorium forget-secrets" removes what no key opens`

// keyList names keys by their ids.
func keyList(ids []string) string {
	if len(ids) == 1 {
		return "key " + ids[0]
	}
	return "keys " + strings.Join(ids, ", ")
}

// Forget removes the secrets of all organizations that none of the keys opens, for where a key is lost: all of them where the file in the data folder
// is asked for, and missing. It answers how many.
func Forget(ctx context.Context, db *database.DB, source Source) (int, error) {
	text, name, missing, err := source.read()
	keys := &Keyring{}
	if err == nil && !missing {
		keys, err = ParseKeyring(text)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	n := 0
	err = db.InTx(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		n, err = forget(ctx, tx, keys.IDs())
		return err
	})
	return n, err
}

// writeKey writes a new file that only its owner can read, whole or not at all.
func writeKey(file string, text string) error {
	draft := file + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft, file); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
