// Package text holds the rules that every text from a client meets, so that they are the same in all words. A text may hold anything:
// invalid UTF-8 and U+0000, which PostgreSQL cannot store, are refused everywhere; the rest depends on what the text is for.
//
// All functions answer a fault.UserError with the path of the input at fault, or nil.
package text
