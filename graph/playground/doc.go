// Package playground serves a page for trying the API by hand: GraphiQL, with a field for the key, subscriptions, and a first example
// (example.graphql) filled in. Everything it needs is embedded, and its content security policy lets it talk to its own server only.
//
// assets/ is made from build/ (npm ci && npm run build there) and committed; assets/LICENSES.txt holds the licences of what is in it.
package playground
