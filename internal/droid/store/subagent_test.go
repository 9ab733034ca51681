package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

const childHead = `{"type":"session_start","id":"child","callingSessionId":"parent"}` + "\n"

// subagentFile is a store with the file of a subagent, and what adds to it.
func subagentFile(t *testing.T, text string) (s *Store, path string, add func(string)) {
	root := t.TempDir()
	path = filepath.Join(root, "-workspace", "child.jsonl")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	add = func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	if text != "" {
		add(text)
	}
	return New(root, nil), path, add
}

// kinds are the types and ids of lines.
func kinds(lines []stream.ChildLine) (all []string) {
	for _, l := range lines {
		all = append(all, l.Type+" "+l.ID)
	}
	return all
}

// A file is read from the offset of the previous call, and a line is returned once it is complete.
func TestSubagentIsReadOn(t *testing.T) {
	s, _, add := subagentFile(t, "")
	_, at, err := s.Subagent("child", Offset{})
	require.ErrorAs(t, err, new(*NotFoundError))
	add(childHead[:10])
	lines, at, err := s.Subagent("child", at)
	require.NoError(t, err)
	require.Empty(t, lines)
	add(childHead[10:] + `{"type":"message","id":"1"}` + "\nnonsense\n" + `{"type":"mess`)
	lines, at, err = s.Subagent("child", at)
	require.NoError(t, err)
	require.Equal(t, []string{"session_start child", "message 1"}, kinds(lines))
	lines, again, err := s.Subagent("child", at)
	require.NoError(t, err)
	require.Empty(t, lines)
	require.Equal(t, at, again)
	add(`age","id":"2"}` + "\n")
	lines, _, err = s.Subagent("child", at)
	require.NoError(t, err)
	require.Equal(t, []string{"message 2"}, kinds(lines))
}

// At most maxLines are read at once, and a longer line is omitted, whatever its end looks like.
func TestSubagentWithALongLine(t *testing.T) {
	s, _, _ := subagentFile(t, childHead+strings.Repeat("x", 3*maxLines)+`{"type":"message","id":"1"}`+"\n"+`{"type":"message","id":"2"}`+"\n")
	var all []string
	for at, reads := (Offset{}), 0; ; reads++ {
		lines, to, err := s.Subagent("child", at)
		require.NoError(t, err)
		all = append(all, kinds(lines)...)
		if to == at {
			require.Equal(t, 5, reads)
			break
		}
		at = to
	}
	require.Equal(t, []string{"session_start child", "message 2"}, all)
}

// A file that is not this subagent's is refused.
func TestSubagentOfAnother(t *testing.T) {
	for name, text := range map[string]string{
		"another's": strings.Replace(childHead, `"child"`, `"other"`, 1),
		"called":    `{"type":"session_start","id":"child"}` + "\n",
		"no head":   `{"type":"message","id":"child","callingSessionId":"parent"}` + "\n",
		"nonsense":  "x\n",
	} {
		s, _, _ := subagentFile(t, text)
		lines, at, err := s.Subagent("child", Offset{})
		require.ErrorIs(t, err, errForeign, name)
		require.Empty(t, lines)
		require.Equal(t, Offset{}, at)
	}
	s, path, _ := subagentFile(t, childHead)
	require.NoError(t, os.Rename(path, path+".other"))
	require.NoError(t, os.Symlink(path+".other", path))
	_, _, err := s.Subagent("child", Offset{})
	require.ErrorIs(t, err, files.ErrNotRegular)
	_, _, err = s.Subagent("../child", Offset{})
	require.ErrorAs(t, err, new(*NotFoundError))
}
