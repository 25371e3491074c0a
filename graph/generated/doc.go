// Package generated holds the GraphQL executor that gqlgen makes from schema/ and gqlgen.yml. Only this file is written by hand.
package generated

//go:generate sh -c "cd ../.. && go tool gqlgen generate"
