// Package organization holds the tenants. Everything else belongs to exactly one organization, and every store takes its id.
//
// An organization is made by the operator, together with its first key. Keys stand above organizations, so this package says what it
// needs of them as KeyMaker, which internal/key fulfils and the command joins.
package organization
