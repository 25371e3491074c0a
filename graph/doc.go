// Package graph is the edge of the GraphQL API: it turns HTTP requests, WebSocket messages and event streams into operations
// for the generated executor (package generated), and its answers back.
//
//	http.go       POST and GET as GraphQL over HTTP has them
//	websocket.go  the graphql-transport-ws protocol; queue.go holds what waits for a socket
//	sse.go        the graphql-sse protocol, distinct connections; resume.go puts Last-Event-ID into the operation
//	request.go    bytes to request
//	document.go   request to checked document (parse, limits, validation, cache)
//	operation.go  checked document to operation: key, variables, complexity, time
//	limits.go     how large and how costly a document may be; complexity.go what it costs
//	errors.go     every error to its code, status and message, in one place
//	origin.go     which browser pages may call
//
// Rules of scripts, runs and calls live in the packages under internal; here is only what holds for any operation.
package graph
