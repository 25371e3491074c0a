// Package client starts throw-away servers and talks to them over GraphQL: requests by POST, subscriptions over a WebSocket. It is for
// programs that look at Scriptorium from outside.
package client
