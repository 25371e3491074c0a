// Package agent holds the agents: owners of scripts.
//
// An agent's row is also the lock of its set of scripts: whoever writes scripts of an agent, or takes their snapshot, takes Lock in
// his transaction first. So the cap and the numbers of versions hold whatever runs side by side.
//
// Agents stand below scripts and runs. What this package needs of them are the interfaces NamesInUse and Removal, which they fulfil
// and the command joins.
package agent
