package key

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

const (
	// AdminFile is the file in the data folder that holds the operator's secret and a newline.
	AdminFile = "admin.key"
	// adminDraft is AdminFile until the database has the key, so that a crash in between loses nothing.
	adminDraft = AdminFile + ".new"
	// firstOrganization is the name of the organization that the first start makes.
	firstOrganization = "default"
	// operatorKey is the name of the operator's keys.
	operatorKey = "operator"
)

// Bootstrap makes, in an empty database, the organization `default` and the operator's key, and writes its secret and a newline to
// admin.key in the data folder (0600). Servers that start at the same time on one database make one key: the file is at the one that
// made it. A file of another database is an error, and nothing is changed.
func (s *Service) Bootstrap(ctx context.Context, dataDir string) error {
	draft, file := filepath.Join(dataDir, adminDraft), filepath.Join(dataDir, AdminFile)
	mine := false // draft holds a secret that the database has
	err := s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if err := lockBootstrap(ctx, tx); err != nil {
			return err
		}
		if err := checkAdminFile(ctx, tx, file); err != nil {
			return err
		}
		organizationID, err := operatorOrganization(ctx, tx.Ent())
		if err != nil {
			return err
		}
		if organizationID != "" {
			mine, err = secretOf(ctx, tx, draft)
			return err
		}
		mine = true
		return s.first(ctx, tx, draft)
	})
	if err != nil || !mine {
		return err
	}
	if err := os.Rename(draft, file); err != nil && !errors.Is(err, fs.ErrNotExist) { // not there: another server has done it
		return fmt.Errorf("cannot write the operator's key: %w", err)
	}
	return syncFolder(dataDir)
}

// first makes the organization and the key, and writes the secret to the draft.
func (s *Service) first(ctx context.Context, tx *database.Tx, draft string) error {
	o, err := s.organizations.CreateInTx(ctx, tx, firstOrganization, nil)
	if err != nil {
		return err
	}
	secret, err := s.makeOperator(ctx, tx, o.ID)
	if err != nil {
		return err
	}
	return writeSecret(draft, secret)
}

// NewOperatorKey makes another key of the operator, for the command on the server: where one was lost or has to be replaced.
func (s *Service) NewOperatorKey(ctx context.Context) (secret string, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		organizationID, err := operatorOrganization(ctx, tx.Ent())
		if err != nil {
			return err
		}
		if organizationID == "" {
			return errors.New("the database is empty: start the server first")
		}
		secret, err = s.makeOperator(ctx, tx, organizationID)
		return err
	})
	return secret, err
}

func (s *Service) makeOperator(ctx context.Context, tx *database.Tx, organizationID string) (string, error) {
	return s.make(ctx, tx, &Key{OrganizationID: organizationID, Name: operatorKey, Capabilities: Capabilities(), Operator: true})
}

// checkAdminFile refuses a file whose secret the database does not know.
func checkAdminFile(ctx context.Context, tx *database.Tx, file string) error {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	known, err := secretOf(ctx, tx, file)
	if err == nil && !known {
		err = fmt.Errorf("%s holds the key of another database: give the server that database, or move the file away", file)
	}
	return err
}

// secretOf says whether the file is there and the database knows its secret.
func secretOf(ctx context.Context, tx *database.Tx, file string) (bool, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot read the operator's key: %w", err)
	}
	return secretKnown(ctx, tx.Ent(), hash(strings.TrimSuffix(string(content), "\n")))
}

// writeSecret writes a secret and a newline to a new file that only its owner can read, safely on the disk.
func writeSecret(file, secret string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("cannot write the operator's key: %w", err)
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the operator's key: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the operator's key: %w", err)
	}
	_, err = f.WriteString(secret + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("cannot write the operator's key: %w", err)
	}
	return nil
}

// syncFolder makes a rename in the folder safe.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("cannot write the operator's key: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
