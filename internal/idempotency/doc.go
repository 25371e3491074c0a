// Package idempotency makes a mutation with an idempotencyKey happen once.
//
// The first thing in the mutation's transaction is a row with the key (Service.Once); a unique index makes an equal request in flight
// wait for the first one's end. The row then holds the ids that were answered, for 24 hours: the same input answers them again, another
// input is refused (IDEMPOTENCY_MISMATCH). A refused mutation rolls its row back, so a refusal is not kept. Rows are by organization,
// key and mutation.
package idempotency
