// Package script holds the scripts of agents and their versions.
//
// A script is a name under which versions are kept. Every save writes a version; versions are numbered 1, 2, 3 … and never change.
// Deleting a script keeps its rows for history; one that is created again under the name is another script, from version 1.
//
// Use cases (a file each): Save, Delete, Clear, ApplyRecipe, Restore. All take the agent's row lock first, so that the cap (S1-cap), the uniqueness of names
// (S1-unique) and the numbers hold; indexes back them. Each writes its change (internal/change) in the same transaction.
//
// Scripts stand below runs and calls. What this package needs of them are the interfaces Removal, WriteThrough and SnapshotNames,
// which they fulfil and the command joins.
package script
