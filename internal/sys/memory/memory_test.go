package memory

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReleaseGivesBack(t *testing.T) {
	Release()
	text := make([]byte, 4*heapThreshold)
	for i := range text {
		text[i] = 'x'
	}
	runtime.KeepAlive(text)
	require.Greater(t, heap(), uint64(heapThreshold))
	Release()
	require.Less(t, heap(), uint64(heapThreshold))
}
