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

// TestRules checks that the rules of world hold whatever editor and droid do, in any order.
func TestRules(t *testing.T) {
	for seed := range int64(worlds) {
		w := newWorld(func(m *Machine) machine { return m }, seed)
		rule := w.play(steps)
		require.Empty(t, rule, "seed %d, step %d:\n%s", seed, w.steps, strings.Join(w.trail, "\n"))
	}
}
