package quirks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A model that uses one ID for all of its calls makes no call slower than the one before: a history may have thousands.
func TestReusedIDIsFoundAtOnce(t *testing.T) {
	names := newTools()
	require.Equal(t, "x~3", names.uniqueID("x~3"))
	for i, want := range []string{"x", "x~2", "x~4", "x~5"} {
		require.Equal(t, want, names.uniqueID("x"), i)
	}
	for range 2000 {
		names.uniqueID("call_0")
	}
	require.Less(t, testing.AllocsPerRun(10, func() { names.uniqueID("call_0") }), 100.0)
	require.Equal(t, fmt.Sprint("call_0~", 2012), names.uniqueID("call_0"))
}
