// Package change holds the change log: what happened to an organization's scripts, in one order, for ever.
//
// A change is written in the transaction of what it tells (Append), with an offset that counts 1, 2, 3 … in its organization without a
// hole: it is counted up under the organization's row lock, which the transaction holds until its end. So a write that is rolled back
// has no change, and what a change tells is visible to whoever receives it. Append takes the lock that all writers of an organization
// share: call it last.
//
// The same rows are read three ways, with the same cursors: the log (oldest first), an agent's history (newest first), and the
// live stream (Watch), which joins what happened with what happens.
package change
