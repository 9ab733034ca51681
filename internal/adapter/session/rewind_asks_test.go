package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// The user is asked before files change with the conversation, and nothing happens if they refuse. Files that droid does not name stay
// unchanged.
func TestRewindAsksAboutFiles(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		dir := t.TempDir()
		kept, made := filepath.Join(dir, "kept"), filepath.Join(dir, "made")
		for _, path := range []string{kept, made} {
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		}
		file := func(path string) fakedroid.Fields { return fakedroid.Fields{"filePath": path} }
		edit := fakedroid.Tool{ID: "t1", Name: "Edit", Input: fakedroid.Fields{"file_path": kept, "old_str": "a", "new_str": "x"}, Result: "done"}
		f := newFleet(t, v, uses(edit))
		f.options = append(f.options,
			answering("get_rewind_info", fakedroid.Fields{"availableFiles": []any{file(kept), fakedroid.Fields{"name": "odd"}}, "createdFiles": []any{file(made), file(filepath.Join(dir, "gone"))}}))
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		e.ask = rejectOnce
		require.Equal(t, "end_turn", e.run("/rewind 1 files"))
		said := strings.Join(e.updates(), "\n")
		require.Contains(t, said, "The conversation stays as it is.")
		require.NotContains(t, strings.Join(f.raw, "\n"), "execute_rewind")
		for _, m := range e.received() {
			said += string(m.Params)
		}
		require.Contains(t, said, "kept`, of which it is not known", "there is no store")
		require.Contains(t, said, "gone`, which is not there now")
		require.Contains(t, said, "These files are deleted, as droid created them since:")
		e.ask = allowOnce
		require.Equal(t, "end_turn", e.run("/rewind 1 files"))
		require.Contains(t, strings.Join(f.raw, "\n"), "execute_rewind")
		require.NotContains(t, strings.Join(f.raw, "\n"), "odd")
	})
}
