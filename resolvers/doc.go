// Package resolvers answers the fields of the GraphQL schema, a file a word. A method asks one service and answers its result: rules
// live in internal/<word>. Fields that belong to another word (a call's run, a script's versions) go through the loaders, which
// collect the look-ups of a whole answer into one statement each.
package resolvers
