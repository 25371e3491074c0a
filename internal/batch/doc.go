// Package batch helps stores to read for many parents in one statement: a list of ids as one argument, and a page of rows for each
// parent, so that the number of statements never depends on the number of rows.
package batch
