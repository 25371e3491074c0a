// Package blob keeps bytes: files by the SHA-256 of what they hold, and logs by name.
//
// They lie in a bucket of gocloud.dev/blob: a folder, or one that New is given, such as the database's (internal/database/blobbucket).
// Other buckets (S3) are a driver and a URL away; their SDKs weigh tens of megabytes in the binary, so none is linked in yet, and
// Open says so.
//
// What is written is there whole or not at all. Equal bytes are kept once, whoever put them: who deletes by SHA-256 must know
// that nobody else refers to it.
package blob
