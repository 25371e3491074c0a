// Package scalar binds the scalars of the schema to Go types: one Marshal and one Unmarshal function for each, as the code
// generator looks for them.
//
//	Time    time.Time        RFC 3339, UTC, milliseconds
//	JSON    json.RawMessage  the very bytes: digits, order and repeated members stay
//	Cursor  string           opaque here
//	Bytes   []byte           base64
//	BigInt  int64            a JSON string of digits
//	ID      string
//
// Unmarshal functions are strict: a value of another kind is an error, never converted silently.
package scalar
