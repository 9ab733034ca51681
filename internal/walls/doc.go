// Package walls holds the tests that keep the house as docs/architecture.md draws it:
// which room may import which, what a pure room may not do, who may write a field, how
// large a room and a file may be. Each rule is also broken on purpose once, to see
// that the test would notice.
package walls
