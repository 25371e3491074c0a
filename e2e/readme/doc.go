// Command readme does what the README says, and nothing else: `go run ./e2e/readme` runs the commands in its sh blocks in order and
// sends the documents in its graphql blocks to the server that they start. Where a document says agt_… (or run_…, call_…), the last
// id of that kind in the answers before takes its place, as a reader would paste it.
//
// A command that does not end by itself (the one that serves) is left running until the next command, and is then interrupted as
// with Ctrl-C.
package main
