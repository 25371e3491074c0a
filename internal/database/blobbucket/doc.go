// Package blobbucket is a bucket of gocloud.dev/blob in the database: for servers that share a PostgreSQL and no file system.
//
// A blob is a row of the table blobs, and its bytes are rows of blob_pieces, so that neither a server nor the database ever holds a
// whole one. It is written to a file without a name first, and goes to the database when it is complete, in one transaction: it is
// there whole or not at all, and a slow writer holds no connection and no lock. A reader fetches a piece at a time and holds nothing
// in between; where the blob is written anew or deleted meanwhile, it fails and never mixes two contents.
//
// It works on SQLite, too, and has all that the bucket's interface asks for but signed URLs.
package blobbucket
