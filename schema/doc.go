// Package schema holds the public schema of Scriptorium in SDL, a file for each domain word.
//
// schema.graphql has the roots, scalars, pages and errors; each other file extends the roots by its word's part.
// directives.graphql is for the code generator alone and no part of what clients see: Print leaves it out.
package schema
