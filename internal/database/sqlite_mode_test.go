package database

import (
	"os"
	"path/filepath"
	"testing"
)

// In a folder that others may enter, the database is its server's alone; so is one that was open to others before.
func TestFilesAreClosedToOthers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, fileName)
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), Config{Data: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // a test's
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(file + "*")
	if len(found) != 3 {
		t.Errorf("%v", found)
	}
	for _, f := range found {
		if st, err := os.Stat(f); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, st.Mode(), err)
		}
	}
}
