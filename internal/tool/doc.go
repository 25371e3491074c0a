// Package tool says what the model is offered: the tools of a run, as the model sees them. It never holds code.
//
// While an agent's scripting is on, a run of it has the system's own five tools (S1-five) and, under its own name, every script with
// parameters (S1-owntool); without an agent, or with scripting off, it has none (S1-switch). The tools of a run are fixed when it is created
// (S1-schemakeep), and kept with it as JSON.
package tool
