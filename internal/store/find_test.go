package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFindTakesTheNewestCopy: a session that was copied to another project is the
// one that was used last, in whatever order the projects come.
func TestFindTakesTheNewestCopy(t *testing.T) {
	for newest, ages := range map[string][2]int{"/a": {2, 1}, "/b": {1, 2}} {
		s := newStore(t)
		for i, cwd := range []string{"/a", "/b"} {
			s.write(project(abs(cwd)), "copied"+transcript, start225("copied", abs(cwd), "hi", nil)+turn225("hi"), sometime.Add(time.Duration(ages[i])*time.Second))
		}
		found, err := s.Find("copied")
		require.NoError(t, err)
		require.Equal(t, abs(newest), found.CWD)
	}
}
