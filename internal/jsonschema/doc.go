// Package jsonschema checks the JSON Schemas of tools, and arguments against them. It is JSON Schema draft 2020-12 with bounds, so that
// neither a schema nor arguments can make a server work or fetch without end:
//
//   - A schema is an object with `type` "object", at most 64 KiB and 200 levels. Model APIs refuse a whole request for anyOf, oneOf or
//     allOf at a schema's top, and for property names that are not 1 to 64 of [a-zA-Z0-9_.-], so both are refused here.
//   - $ref and $dynamicRef are local (`#…`), at most 256 of them; nothing is ever fetched. Recursion is fine.
//   - Another $schema than draft 2020-12 is refused. Patterns are RE2. Formats and content are not asserted.
//   - Numbers are exact. Exponents past ±100,000 are refused, and so is a document whose exponents sum up to more than a million.
//   - A check of arguments takes at most two million steps.
//
// The first fault is found by document order: the place of the arguments first, then, at one place, type, enum, const, required and
// additionalProperties, then the other keywords by alphabet.
package jsonschema
