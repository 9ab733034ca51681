// Package archtest holds the tests that keep the house as docs/architecture.md draws it: which
// room may import which, what a pure room may not do, who may reach the disk and start
// programs, which calls may hang, and how much state a session may have. Each rule is also
// broken on purpose once, to see that the test would notice.
package archtest
