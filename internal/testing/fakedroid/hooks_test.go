package fakedroid

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hookSettings have a hook before and after Read and Edit.
func hookSettings(command string) func() []byte {
	list := `[{"matcher":"Read|Edit","hooks":[{"type":"command","command":"` + command + `"}]}]`
	return func() []byte { return []byte(`{"hooks":{"PreToolUse":` + list + `,"PostToolUse":` + list + `}}`) }
}

// workScript reads, edits and reads again a file in dir.
func workScript(dir string, told *[]string) Script {
	path := filepath.Join(dir, "a.txt")
	return EachPrompt(func(d *Droid, _ Prompt) error {
		read := Tool{Name: "Read", Input: Fields{"file_path": path}, Works: true}
		edit := Tool{Name: "Edit", Input: Fields{"file_path": path, "old_str": "two", "new_str": "three"}, Works: true, Confirmation: "edit", Impact: "low"}
		if err := d.Use("", "", read); err != nil {
			return err
		}
		if err := d.Use("", "", edit); err != nil {
			return err
		}
		*told = d.Told()
		return nil
	})
}

// The orders are those of own_hooks of both versions in testdata/fixtures.
func TestHooksInDroidsOrder(t *testing.T) {
	for _, tt := range []struct {
		version Version
		want    string
	}{
		{V0225, "tool_call begins PreToolUse ends tool_call ^other executing begins PostToolUse ends tool_result one two " +
			"tool_call begins PreToolUse ends request_permission executing begins PostToolUse ends tool_result {}"},
		{V099, "tool_call begins PreToolUse ends tool_call tool_result one two begins PostToolUse ends " +
			"tool_call request_permission begins PreToolUse ends tool_call tool_result {} begins PostToolUse ends"},
	} {
		t.Run(string(tt.version), func(t *testing.T) {
			dir := t.TempDir()
			other := filepath.Join(dir, "other")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600))
			require.NoError(t, os.WriteFile(other, []byte("one two\n"), 0o600))
			run := func(_ context.Context, command string, stdin []byte) []byte {
				require.Equal(t, "ours", command)
				var in map[string]any
				require.NoError(t, json.Unmarshal(stdin, &in))
				switch {
				case in["tool_name"] == "Read" && in["hook_event_name"] == "PreToolUse":
					return []byte(`{"hookSpecificOutput":{"updatedInput":{"file_path":"` + filepath.ToSlash(other) + `"}}}`)
				case in["tool_name"] == "Edit" && in["hook_event_name"] == "PostToolUse":
					require.Contains(t, in["tool_response"], "file_path")
					return []byte(`{"hookSpecificOutput":{"additionalContext":"look"}}`)
				}
				return nil
			}
			var told []string
			c := start(t, workScript(dir, &told), WithVersion(tt.version), WithHooks(Hooks{Settings: hookSettings("ours"), Run: run}))
			c.until("mcp_status_changed") // before it is asked anything
			c.init(Fields{"cwd": dir})
			c.request("add_user_message", Fields{"text": "go"})
			require.Equal(t, tt.want, strings.Join(c.hookStory(other), " "))
			require.NoError(t, c.finish())
			require.Equal(t, []string{"look"}, told)
			data, err := os.ReadFile(filepath.Join(dir, "a.txt"))
			require.NoError(t, err)
			require.Equal(t, "one\nthree\n", string(data))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 2)
		})
	}
}

// hookStory allows what is asked and returns the messages about tools and hooks, without repeated calls, until the turn ends.
func (c *client) hookStory(other string) (story []string) {
	c.t.Helper()
	add := func(words ...string) {
		if n := len(story); n == 0 || story[n-1] != words[0] {
			story = append(story, words...)
		}
	}
	for {
		l := c.next()
		n := l.Params.Notification
		switch name := l.name(); name {
		case "S:idle":
			return story
		case "request_permission":
			add(name)
			c.answer(l, "proceed_once")
		case "tool_call":
			add(name)
			use := n["toolUse"].(map[string]any)
			if use["input"].(map[string]any)["file_path"] == filepath.ToSlash(other) {
				add("^other")
			}
		case "tool_execution_phase_changed":
			if n["phase"] == "executing" {
				add("executing")
			}
		case "hook_execution_started":
			add("begins", n["hookEventName"].(string))
		case "hook_execution_completed":
			require.NotEmpty(c.t, n["hookResults"])
			add("ends")
		case "tool_result":
			content := n["content"].(string)
			if strings.HasPrefix(content, "{") {
				content = "{}"
			}
			add(name, content)
		}
	}
}

// A turn can be interrupted while a hook runs.
func TestInterruptedHook(t *testing.T) {
	began := make(chan struct{})
	run := func(ctx context.Context, _ string, _ []byte) []byte {
		close(began)
		<-ctx.Done()
		return nil
	}
	var told []string
	c := start(t, workScript(t.TempDir(), &told), WithHooks(Hooks{Settings: hookSettings("ours"), Run: run}))
	c.init(nil)
	c.request("add_user_message", Fields{"text": "go"})
	c.until("hook_execution_started")
	<-began
	c.request("interrupt_session", Fields{})
	require.Equal(t, "cancelled", c.until("agent_turn_completed").Params.Notification["reason"])
	require.NoError(t, c.finish())
}

// Without a Run the command is one for the shell.
func TestHookOfTheShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600))
	seen := filepath.Join(dir, "seen")
	var told []string
	c := start(t, workScript(dir, &told), WithHooks(Hooks{Settings: hookSettings("cat >> " + seen)}))
	c.init(nil)
	c.request("add_user_message", Fields{"text": "go"})
	c.hookStory("")
	require.NoError(t, c.finish())
	data, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(data), `"hook_event_name"`))
}

// A tool that cannot do its work says why, and no hook comes behind it.
func TestWorkThatFails(t *testing.T) {
	dir := t.TempDir()
	d := &Droid{version: V0225}
	for name, in := range map[string]Fields{
		"Read": {"file_path": filepath.Join(dir, "none")}, "Edit": {"file_path": dir, "old_str": "x"}, "Fly": {},
	} {
		result, isError := d.work(Tool{Name: name, Works: true}, in)
		require.True(t, isError, name)
		require.Contains(t, result, "Error: ", name)
	}
	path := filepath.Join(dir, "new", "a.txt")
	result, isError := d.work(Tool{Name: "Create", Works: true, Result: "made"}, Fields{"file_path": path, "content": "x"})
	require.False(t, isError)
	require.Equal(t, "made", result)
	_, isError = d.work(Tool{Name: "Edit", Works: true}, Fields{"file_path": path, "old_str": "y", "new_str": "z"})
	require.True(t, isError, "it is not in the file")
}
