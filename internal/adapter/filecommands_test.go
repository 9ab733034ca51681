//go:build linux

package adapter

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

// What a command has changed on the disk is what droid reads, however late the editor
// notices it. The editor is not waited for.
func TestReadAfterACommand(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v, func(r *filesRoom) { r.o.Delay = func() time.Duration { return 1500 * time.Millisecond } })
		path := r.opened("a.txt", "one\n", "")
		run := fakedroid.Tool{Name: "Execute", Input: fakedroid.Fields{"command": "make"}, Works: true, Do: func(fakedroid.Fields) error {
			if err := os.WriteFile(path, []byte("made by it\n"), 0o644); err != nil {
				return err
			}
			info, err := os.Stat(path)
			r.clock.changed(info)
			return err
		}}
		shadows := r.shadows()
		r.does(readOf(path), run, readOf(path))
		began := time.Now()
		require.Equal(t, "end_turn", r.run("go"))
		require.Less(t, time.Since(began), time.Second)
		require.Empty(t, shadows())
		require.Contains(t, r.everything(), "made by it")
		r.holds(path, "made by it\n")
	})
}
