// Package archtest holds what no compiler does of the house that docs/dev/architecture.md draws: which wing may import
// which, what a pure package may not do, what only some packages may reach, and which calls may hang.
// TestSabotage breaks each rule once, to see that a test would notice.
package archtest
