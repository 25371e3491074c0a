// Package ent says how the storage code in ent/db is generated from ent/schema.
package ent

//go:generate go tool ent generate --target ./db --feature sql/lock,sql/modifier,sql/execquery,sql/upsert,sql/versioned-migration ./schema
