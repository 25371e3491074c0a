// Package key holds the API keys, and the viewer: the key of a request with its organization.
//
// A secret is answered once, when its key is made; the database holds its SHA-256 only. Reading needs any key; what changes something
// needs a capability, which each use case asks of the viewer first (Viewer.Require). Nobody makes a key with more than his own has.
//
// The operator's key is made at the first start (Bootstrap). It has every capability, also makes organizations, and makes and revokes
// keys of any organization. It can be revoked only while there is another operator's key.
package key
