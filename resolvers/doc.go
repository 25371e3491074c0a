// Package resolvers answers the fields of the GraphQL schema, a file a word. A method asks one service and answers its result: rules
// live in internal/<word>. What belongs to another word (a call's run, a script's versions) is loaded for all objects that came into the
// answer together, in one statement: see load.go.
package resolvers
