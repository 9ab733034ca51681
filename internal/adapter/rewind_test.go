package adapter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
)

// A user is asked before files change with the conversation: those that somebody has changed since are named, and nothing
// happens where the answer is no.
func TestRewindAsksAboutFiles(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		dir := t.TempDir()
		kept, changed, made := filepath.Join(dir, "kept"), filepath.Join(dir, "changed"), filepath.Join(dir, "made")
		edited := time.UnixMilli(1795229644628) // as the scripted droid has it
		for _, path := range []string{kept, changed, made} {
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
			require.NoError(t, os.Chtimes(path, edited, edited))
		}
		require.NoError(t, os.Chtimes(changed, edited, edited.Add(time.Minute)))
		file := func(path string) fakedroid.Fields { return fakedroid.Fields{"filePath": path} }
		edit := func(id, path string) fakedroid.Tool {
			return fakedroid.Tool{ID: id, Name: "Edit", Input: fakedroid.Fields{"file_path": path, "old_str": "a", "new_str": "x"}, Result: "done"}
		}
		f := newFleet(t, v, uses(edit("t1", kept), edit("t2", changed)))
		f.options = append(f.options,
			answering("get_rewind_info", fakedroid.Fields{"availableFiles": []any{file(kept), file(changed)}, "createdFiles": []any{file(made), file(filepath.Join(dir, "gone"))}}))
		e := begin(t, f.start)
		e.agent.opener.Stat = os.Stat
		require.Equal(t, "end_turn", e.run("one"))
		e.ask = rejectOnce
		require.Equal(t, "end_turn", e.run("/rewind 1 files"))
		said := strings.Join(e.updates(), "\n")
		require.Contains(t, said, "The conversation stays as it is.")
		require.NotContains(t, strings.Join(f.raw, "\n"), "execute_rewind")
		for _, m := range e.received() {
			said += string(m.Params)
		}
		require.Contains(t, said, "changed`, **changed since droid's last edit of it**")
		require.NotContains(t, said, "kept`,")
		require.Contains(t, said, "made`, which may have been changed", "no edit of it is known")
		require.Contains(t, said, "gone`, which is not there now")
		require.Contains(t, said, "These files are deleted, as they were not there then:")
		e.ask = allowOnce
		require.Equal(t, "end_turn", e.run("/rewind 1 files"))
		require.Contains(t, strings.Join(f.raw, "\n"), "execute_rewind")
	})
}

// TestTurnsFrom: droid's own turns count, a failed edit does not, and results are no messages of their own.
func TestTurnsFrom(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"1","role":"user","content":[{"type":"text","text":"one"}]},
		{"id":"2","role":"user","content":[{"type":"text","text":"two"}]},
		{"id":"3","role":"assistant","content":[{"type":"tool_use","id":"a","name":"Edit","input":{"file_path":"f"}}]},
		{"id":"4","role":"user","content":[{"type":"tool_result","toolUseId":"a","isError":true,"content":"no"}]},
		{"id":"5","role":"system","content":[{"type":"text","text":"a report"}]},
		{"id":"6","role":"assistant","content":[{"type":"tool_use","id":"b","name":"Edit","input":{"file_path":"f"}}]},
		{"id":"7","role":"user","content":[{"type":"tool_result","toolUseId":"b","content":"done"}]},
		{"id":"8","role":"user","content":[{"type":"text","text":"three"}]}]`), &messages))
	turns := func(from string) (got []string) {
		for id, edits := range turnsFrom(messages, from, "/workspace") {
			got = append(got, fmt.Sprint(id, edits))
		}
		return got
	}
	require.Equal(t, []string{"2false", "5true", "8false"}, turns("2"))
	require.Equal(t, []string{"8false"}, turns("8"))
	require.Equal(t, []string{"4false", "5true", "8false"}, turns("4"), "a prompt with a result before it")
	require.Empty(t, turns("9"))
}

// TestPoints: each prompt once, with all its text.
func TestPoints(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"1","role":"user","content":[{"type":"text","text":"one\nmore lines"}]},
		{"id":"2","role":"assistant","content":[{"type":"text","text":"answer"}]},
		{"id":"3","role":"user","content":[{"type":"text","text":"two"}]}]`), &messages))
	points := rewindPoints(messages)
	require.Equal(t, []rewindPoint{{"1", "one\nmore lines"}, {"3", "two"}}, points)
	require.Contains(t, listRewindPoints(points), "1. one …\n2. two\n")
	require.Empty(t, rewindPoints(nil))
}
