package turns

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	worlds = 1000
	steps  = 300
)

func numbered() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("request ", n) }
}

// TestRules: whatever editor and droid do, in whatever order, the rules of world hold.
func TestRules(t *testing.T) {
	for seed := range int64(worlds) {
		w := newWorld(New(numbered()), seed)
		rule := w.play(steps)
		require.Empty(t, rule, "seed %d, step %d:\n%s", seed, w.steps, strings.Join(w.trail, "\n"))
	}
}
