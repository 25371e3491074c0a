// Package file keeps files: what was uploaded (File), copies that runs were given (attachments), and the bytes of all that refers to some (Content), also of
// packages and artifacts.
//
// Bytes are kept once, by their SHA-256, whoever brings them and however often. They are kept first (Service.Keep), then referred to, in a transaction that locks them
// (Service.Refer): so they cannot be collected in between. Whoever may read what refers to bytes may read them (Service.OpenContent): that is the caller's to know.
package file
