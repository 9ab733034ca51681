package memory

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAvailable(t *testing.T) {
	const info = "MemTotal:       24000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"the machine's":        {map[string]string{"/proc/meminfo": info}, 8000000 << 10},
		"not told":             {nil, 0},
		"an old kernel's":      {map[string]string{"/proc/meminfo": "MemFree: 1000 kB\n"}, 0},
		"a group's":            {map[string]string{"/proc/meminfo": info, "/sys/fs/cgroup/memory.max": "2000000\n", "/sys/fs/cgroup/memory.current": "500000\n"}, 1500000},
		"a group's without":    {map[string]string{"/proc/meminfo": info, "/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory.current": "500000\n"}, 8000000 << 10},
		"a group's over limit": {map[string]string{"/proc/meminfo": info, "/sys/fs/cgroup/memory.max": "500\n", "/sys/fs/cgroup/memory.current": "600\n"}, 0},
	} {
		got := available(func(path string) ([]byte, error) {
			text, ok := c.files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		})
		require.Equal(t, c.want, got, name)
	}
	require.Positive(t, Available())
}
