// Package jsonschema checks the JSON Schemas of tools, and arguments against them. It is JSON Schema draft 2020-12 with bounds, so that
// neither a schema nor arguments can make a server work or fetch without end:
//
//   - A schema is an object with `type` "object", at most 64 KiB and 200 levels. Model APIs refuse a whole request for anyOf, oneOf or
//     allOf at a schema's top, and for property names that are not 1 to 64 of [a-zA-Z0-9_.-], so both are refused here.
//   - $ref and $dynamicRef are local (`#…`), at most 256 of them; nothing is ever fetched. Recursion is fine.
//   - Another $schema than draft 2020-12 is refused. Patterns are RE2. Formats and content are not asserted.
//   - Numbers are exact. Exponents past ±100,000 are refused, and so is a document whose exponents sum up to more than a million.
//   - A schema holds at most 4,096 schemas, the pointers to all of them 1 MiB, and its patterns 50,000 instructions, so that to compile it
//     takes some 0.2 s and 32 MiB at most.
//   - A check of arguments takes at most 64 million steps (see maxSteps), some 0.3 s, and 24 MiB besides the arguments themselves (which
//     take some 35 times their text's size at most: 700,000 empty arrays in a mebibyte), or its fault is `(root): complexity`.
//
// The library (santhosh-tekuri/jsonschema) compiles schemas; it validates nothing here, for it can be stopped in no part of its work: it
// keeps all faults with their paths, and has package regexp match patterns. What it compiles is gone through by a check that counts what it
// does. A check keeps one fault, knows places by their numbers in document order, matches patterns by itself, and compares no values
// but by what stands for them (a number's digits, a digest), so that no work grows with the square of anything.
//
// The first fault is found by document order: the place of the arguments first, then, at one place, type, enum, const, required and
// additionalProperties, then the other keywords by alphabet.
package jsonschema
