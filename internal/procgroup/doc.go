// Package procgroup runs a command so that it can be ended together with what it
// started, and so that all of it ends when this program dies.
//
// On Unix the command runs in a process group of its own, on Windows in a job
// object. A process that leaves its group (by starting a session or a group of its
// own) is out of reach and outlives the command; a job cannot be left.
package procgroup
