// Package id makes and checks the global, opaque ids of the API: a prefix that says what kind of thing it is, and 26 characters
// of Crockford's base32 (lower case) that hold a UUIDv7, so that ids made later sort later.
package id
