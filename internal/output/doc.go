// Package output keeps what calls print, and streams it: byte-exact, in order, from the start for those who come late.
//
// The server that runs a call has a Writer. It cuts what arrives into chunks (16 KiB or 20 ms, whichever is first; after 20 ms of
// silence at once), appends each to the call's spool file, tells the watchers in this process, and, where there are other servers,
// copies it to the bus's Replica, from which those read while the call runs. At the end the spool becomes a blob, which all
// servers read. A Feed finds the right one of them at every moment.
//
// A call's topic has one event for each chunk, offsets 1 to n, and the finished event at n + 1, whose payload is the caller's. A
// chunk read again has the bounds, time and cursor that it had live.
//
// What is kept is bounded (16 MiB a call, over both streams). Past the bound the program goes on and its output is counted, not
// kept: a stream's Bytes and SHA256 are those of what is kept, so a reader can prove that it has all that there is, and Dropped
// says how much more was written. The first 32 KiB of each stream are held for the call's answer, whether they were kept or not.
//
// The order between the two streams is the order in which their bytes arrived. A program that changes between them very often
// (32,768 chunks cut for this reason) has it from then on within 20 ms only.
//
// A server that is killed leaves spool files; Recover makes blobs of them at the next start, without what the crash tore.
//
// What must not be shown (the values of secrets) is masked before it comes here: a filter in front of Writer.Write, with the
// same signature. Bytes, offsets and hashes then count the masked output everywhere.
package output
