// Package approval holds what people decide about drafts: who, when, and why.
//
// A decision moves its draft (internal/script does that) and is kept, in one transaction. It never changes, and stays when its subject goes.
package approval
