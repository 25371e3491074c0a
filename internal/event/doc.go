// Package event delivers what happened to whoever watches: changes of scripts, the events of a run, the output of a call.
//
// A Topic is one sequence of events: an organization's changes, a run, a call's output. Its events have offsets 1, 2, 3 … without
// a hole. A Cursor is the opaque text that a client gets with every event and hands back to go on right behind it.
//
// The truth of a topic is its Source: rows in SQL, or the kept output of a call. The Bus only carries what the source holds
// already, as fast as it can, and may lose it: a Stream notices every hole in the offsets and fills it from the source, so
// nothing is lost and nothing comes twice, whatever the bus does. There are two buses with the same promises: Memory, for one
// server, and Redis, for any number of them. The suite in eventtest holds both to:
//
//  1. In order, each event exactly once; with a position, exactly the events behind it; no seam between what is kept and what
//     is live. Where the source says that history is gone, one item with a Gap says so, never silence.
//  2. A reader that stops reading costs one batch of events and delays nobody: it goes on from the source.
//  3. A notification that got lost (a crash between commit and publish, Redis away) delays its event by the recheck interval,
//     and loses nothing.
//  4. Publishing never fails or delays a write because Redis is away.
//
// To add a kind of stream: name its topic, write its Source, publish after the commit, and Open a Stream.
package event
