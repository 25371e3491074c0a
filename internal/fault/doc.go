// Package fault holds what Scriptorium says when it refuses something.
//
// There are two kinds. A UserError says that an input breaks a rule: it is data, answered in the payload's userErrors with a
// stable code and the path of the input at fault. A Problem concerns the whole request (no key, a missing capability, a malformed
// cursor): it is answered as a GraphQL error with extensions {code, requestId}. Everything else is an internal error: logged
// once at the edge and answered without detail.
//
// Messages of both kinds are safe to show: they name the thing at fault and hold nothing of the server's.
package fault
