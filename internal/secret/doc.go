// Package secret holds the agents' secrets: values under names, which an agent's scripts find in their environment, and which nobody else
// gets to see (S1-secret). Keys of the API have secrets of another kind: package key.
//
// The files:
//
//	secret.go         what a secret is, and the rules of its parts
//	secret_set.go     creating and replacing one, secret_delete.go removing it
//	secret_read.go    names and descriptions for all, values for the calls that are about to run
//	keyring.go        values are sealed (AES-256-GCM) before they are stored, for their organization, agent and name
//	secret_unlock.go  where the keys come from, and whether they open what is stored
//	secret_reseal.go  after a new first key, what an older one sealed is sealed anew
//	mask.go           finding values in output, filter.go on its way, as it is printed
//
// A value is in the clear in three places only: the request that sets it, the memory of the server that runs a call, and the environment of the call's
// program. No error, log line, event or answer has it.
//
// Masking finds the very bytes of values that had been set when the call began, in each of the two streams. It cannot find what a program made of
// a value (base64, its parts, a value written partly to one stream and partly to the other), nor values of fewer than MinMasked bytes. A program that waits for more
// than MaxWait between two bytes of a value shows the first ones: output is not held up for longer. So masking keeps accidents out of logs; it does not
// hold a script back that wants to tell a secret. Whoever may write an agent's scripts, may have its secrets.
package secret
