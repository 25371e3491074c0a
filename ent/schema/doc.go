// Package schema describes the tables: columns, indexes, constraints and edges, a file a domain word. It holds no rule, no hook and
// no privacy policy: rules live in internal/<word>, and tenancy is an explicit predicate in every store.
//
// Conventions: ids are text (internal/id). Every table but organizations has an organization_id, and every index starts with it.
// JSON that users sent (parameters, arguments, environment) is kept as the bytes that came. Rows that history refers to are never
// deleted: agents and scripts get a deleted_at instead, and versions stay.
package schema
