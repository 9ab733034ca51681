package stream_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/fixture"
)

var absolute = regexp.MustCompile(`"([A-Za-z_]+)":\s*"(/[^"\s]+)"`)

// notPaths are fields whose texts are no paths, though they may begin like one: words, base64,
// command lines, and a target that may be a host.
var notPaths = regexp.MustCompile(`^(text|textDelta|data|command|target|fullOutput|content|pattern)$`)

// TestEveryRecordedPathIsKnown: no path in a recorded conversation is left when all that are
// known are taken out.
func TestEveryRecordedPathIsKnown(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/*/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	known := map[string]int{}
	for _, file := range files {
		c, err := fixture.Load(file)
		require.NoError(t, err)
		methods := map[string]string{} // by id, of requests that wait
		for _, step := range c.Steps {
			what, message := messageOf(step.Msg, methods)
			if what == "" {
				continue
			}
			rest := stream.Paths(what, message, func(place, _, _ string) string { known[what+" "+place]++; return "" })
			for _, m := range absolute.FindAllStringSubmatch(string(rest), -1) {
				require.Regexp(t, notPaths, m[1], "%s: %s of %s has the path %s", file, m[1], what, m[2])
			}
		}
	}
	for _, place := range []string{"droid.initialize_session cwd", "create_message message.content[].input@name.file_path", "droid.request_permission toolUses[].details.filePath"} {
		require.NotZero(t, known[place], place)
	}
}

// messageOf is what stream.Paths knows of a line, and its name there.
func messageOf(line json.RawMessage, methods map[string]string) (string, json.RawMessage) {
	var m struct {
		ID, Method     string
		Params, Result json.RawMessage
	}
	if json.Unmarshal(line, &m) != nil {
		return "", nil
	}
	switch {
	case m.Method == "":
		return methods[m.ID] + ".result", m.Result
	case m.ID != "":
		methods[m.ID] = m.Method
		return m.Method, m.Params
	}
	var p struct{ Notification json.RawMessage }
	var n struct{ Type string }
	_ = json.Unmarshal(m.Params, &p)       // every recorded one has one
	_ = json.Unmarshal(p.Notification, &n) // and that a type
	return n.Type, p.Notification
}

func TestPaths(t *testing.T) {
	const hook = `{"cwd":"/w","transcript_path":"/t","tool_name":"Edit","tool_input":{"file_path":"/w/a"},"prompt":"/w"}`
	got := stream.Paths("hook.stdin", json.RawMessage(hook), func(_, _, value string) string { return strings.ToUpper(value) })
	require.JSONEq(t, `{"cwd":"/W","transcript_path":"/T","tool_name":"Edit","tool_input":{"file_path":"/W/A"},"prompt":"/w"}`, string(got))
}
