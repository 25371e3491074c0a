package database

import (
	"context"
	"io/fs"
)

// Attempts is how often a transaction is begun at most.
const Attempts = attempts

// MigrateFiles is Migrate with other files.
func (d *DB) MigrateFiles(ctx context.Context, files fs.FS) error { return d.migrate(ctx, files) }

// MigrationLock is the number of the advisory lock.
const MigrationLock = migrationLock
