package adapter

import (
	"encoding/json"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/editorfs"
	"droid-acp/internal/hooks"
	"droid-acp/internal/quirks"
)

// editing are file calls with one edit whose first hook has come.
func editing(t *testing.T) *fileCalls {
	files, err := editorfs.Open(editorfs.Options{Journal: filepath.Join(t.TempDir(), "edits")})
	require.NoError(t, err)
	t.Cleanup(files.Close)
	f := new(fileCalls)
	f.use(files.Desk(nil, editorfs.DeskOptions{}), func(func()) bool { return true }, func(f func()) { f() }, zap.NewNop())
	announce(t, f, "a")
	return f
}

// announce has droid announce an edit and run the hook before it.
func announce(t *testing.T, f *fileCalls, id string) {
	input := json.RawMessage(`{"file_path":"/w/a","old_str":"1","new_str":"2"}`)
	f.heard(quirks.ToolStarted{ID: id, Name: "Edit", Input: input}, "/w")
	got := false
	f.hooked(&fileHook{request: hooks.Request{Event: beforeTool, Tool: "Edit", Input: input}}, "/w", func(job fileJob, _ *acp.RequestError) { got = job != nil })
	require.True(t, got)
}

// An edit whose last hook droid could not start is over, and holds its file no longer: 0.99
// starts none for a file of more than some 125 kB, and says so.
func TestEditWhoseLastHookCannotStart(t *testing.T) {
	f := editing(t)
	own := []stream.HookCommand{{Command: "x " + stream.OwnHook + " @y"}}
	f.hooksStarted(stream.HookStarted{HookID: "other", EventName: afterTool, Tool: "Create", Commands: own})
	f.hooksCompleted(stream.HookCompleted{HookID: "other"})
	require.Len(t, f.open, 1)
	f.hooksStarted(stream.HookStarted{HookID: "h", EventName: afterTool, Tool: "Edit", Commands: own})
	require.Len(t, f.open, 1)
	f.hooksCompleted(stream.HookCompleted{HookID: "h"})
	require.Empty(t, f.open)
}

// So is one whose last hook has not come when droid runs the next edit.
func TestEditWhoseLastHookDoesNotCome(t *testing.T) {
	f := editing(t)
	f.heard(quirks.ToolEnded{ID: "a", Name: "Edit"}, "/w")
	require.NotNil(t, f.call("a"), "its hook may still come (0.99)")
	announce(t, f, "b")
	require.Nil(t, f.call("a"))
	require.NotNil(t, f.call("b"))
}
