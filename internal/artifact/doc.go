// Package artifact holds artifacts: files that calls wrote into their folders of outputs, and that are kept (S2-art).
//
// Their bytes are contents (package file), kept before the row of the call's end is written; their rows are written with it, in one transaction. What a
// file is named was decided by a program: any bytes but NUL and /. It is kept as it is, and reads with U+FFFD for what is no UTF-8.
package artifact
