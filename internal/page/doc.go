// Package page holds the shapes and rules of paged lists: Relay connections with keyset cursors.
//
// A list is walked with first and after, or with last and before; 1 to 100 rows a page, 50 by default. A cursor holds the sort key
// of its row and the name of the list's order, so that a cursor of another list is refused (BAD_CURSOR) instead of misread.
package page
