// Package input turns what a client sent into the values that resolvers get: strictly, and without losing a byte of JSON.
//
// The executor's own way loses things: it decodes variables into maps (order and repeated members go), reads a literal 1.0 as 1,
// takes "3" for an Int and any case for an enum value. So, once the operation is known and before it runs, Prepare reads the raw
// bytes of the variables along the operation's variable types:
//
//   - at a JSON position stands a json.RawMessage with the very bytes of the variable;
//   - Int (32 bits), String, Boolean, ID, enum values, input objects (unknown, missing and repeated members, @oneOf) and lists are
//     checked, and an error names the path at fault, such as variables.input.connectedTools.3;
//   - what is no UTF-8, or has a surrogate without its pair, is refused with path and offset.
//
// A literal at a JSON position in the document becomes JSON text with its order and digits. It is put into a variable of a copy of the
// operation, since documents are cached and shared.
package input
