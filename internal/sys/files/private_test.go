package files

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever reads a private file while it is replaced has one text or the other, whole.
func TestPrivateFileIsReplacedAtOnce(t *testing.T) {
	texts := []string{strings.Repeat("a", 20_000), strings.Repeat("b", 10_000)}
	f, err := NewPrivateFile("test", []byte(texts[0]))
	require.NoError(t, err)
	defer f.Close()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				if err := f.Replace([]byte(texts[i%2])); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 2000 {
		data, err := os.ReadFile(f.Path)
		require.NoError(t, err)
		require.True(t, string(data) == texts[0] || string(data) == texts[1], "%d bytes", len(data))
	}
	close(stop)
	writing.Wait()
}

// A private file that is closed has no descriptor any more: that may be another file's.
func TestPrivateFileThatIsClosed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere it is known by its name")
	}
	f, err := NewPrivateFile("test", []byte("a"))
	require.NoError(t, err)
	f.Close()
	other, err := NewPrivateFile("test", []byte("another file"))
	require.NoError(t, err)
	defer other.Close()
	require.Equal(t, f.Path, other.Path, "the number is used again")
	require.Error(t, f.Replace([]byte("b")))
	data, err := os.ReadFile(other.Path)
	require.NoError(t, err)
	require.Equal(t, "another file", string(data))
}
