// Package archtest checks what docs/dev/architecture.md says and no compiler checks: which area may import which, that
// pure packages have no side effects, which packages may use what is restricted, that calls that may hang are bounded,
// and that each event of droid's has all its places.
// TestRulesFindViolations and TestHangingCallsAreSeen break each rule once.
package archtest
