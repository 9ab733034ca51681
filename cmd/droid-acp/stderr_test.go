package main

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// TestStderrIsSafeToShow: errors repeat what others wrote.
func TestStderrIsSafeToShow(t *testing.T) {
	for _, args := range [][]string{
		{"smoke", "--droid", "/no\x1b[2K\u202edroid\u009b1A"},
		{"no\x1b[2K\u202esuch command"},
		{"--no\x1b[2K\u202esuch flag"},
	} {
		got := command("", args...)
		require.Contains(t, got.stderr, `\x1b[2K`)
		require.Contains(t, got.stderr, `\u202e`)
		for _, r := range got.stderr {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%q", r)
		}
	}
}
