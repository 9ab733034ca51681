package main

import (
	"runtime/debug"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// The limit grows with the droids that run; one that the user has set does not.
func TestMemoryLimit(t *testing.T) {
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	before := limit()
	defer debug.SetMemoryLimit(before)
	for set, want := range map[string][3]int64{"": {memoryBase, memoryBase + 2*memoryOfDroid, memoryBase + memoryOfDroid}, "1GiB": {before, before, before}} {
		t.Setenv("GOMEMLIMIT", set)
		debug.SetMemoryLimit(before)
		synctest.Test(t, func(t *testing.T) {
			m := limitMemory()
			first, second := make(chan struct{}), make(chan struct{})
			got := [3]int64{limit()}
			m.raise(first)
			m.raise(second)
			got[1] = limit()
			close(first)
			synctest.Wait()
			got[2] = limit()
			close(second)
			require.Equal(t, want, got)
		})
	}
}
