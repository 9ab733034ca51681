// Package archtest checks the rules of docs/dev/architecture.md that a compiler does not: which area may import which, that pure packages
// have no side effects, which packages may use restricted functions, that calls that may hang are bounded, and that each event of droid's
// has all its places. It has only tests; TestRulesFindViolations and TestHangingCallsAreSeen violate each rule once.
package archtest
