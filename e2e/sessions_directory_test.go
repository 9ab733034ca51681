//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// project creates a project with an MCP server, a hook and a subagent, all named after it. Whatever of it runs writes a line to the home's
// file "ran".
func (h home) project(t *testing.T, name string) (dir string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir = filepath.Join(h.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".factory", "droids"), 0o755))
	log := filepath.Join(h.dir, "ran")
	write := func(file string, content any) {
		data, ok := content.(string)
		if !ok {
			encoded, err := json.Marshal(content)
			require.NoError(t, err)
			data = string(encoded)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", file), []byte(data), 0o644))
	}
	write("mcp.json", map[string]any{"mcpServers": map[string]any{"server" + name: map[string]any{"type": "stdio", "command": "sh",
		"args": []string{"-c", fmt.Sprintf("echo server of %s >> '%s'; exec '%s'", name, log, self)}, "env": map[string]string{mcpEnv: "hello "}}}})
	write("settings.json", map[string]any{"hooks": map[string]any{"SessionStart": []any{map[string]any{"hooks": []any{map[string]any{
		"type": "command", "command": fmt.Sprintf("echo hook of %s >> '%s'", name, log)}}}}}})
	write("droids/sub"+name+".md", "---\nname: sub"+name+"\ndescription: Knows all of "+name+"\nmodel: inherit\n---\nYou help.\n")
	return dir
}

// ran returns what has run of the projects, each once.
func (h home) ran(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, "ran"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	found := map[string]bool{}
	for _, l := range strings.Fields(strings.ReplaceAll(string(data), " of ", "-of-")) {
		found[l] = true
	}
	return found
}

// forgetRan clears the record.
func (h home) forgetRan(t *testing.T) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(h.dir, "ran")))
}

// awaitRan waits until this has run, and returns false if it did not within limit.
func (h home) awaitRan(t *testing.T, what string, limit time.Duration) bool {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if h.ran(t)[what] {
			return true
		}
	}
	return false
}

// toldOf reports whether the last request to the model has a project's server and subagent.
func toldOf(model *modelserver.Server, name string) (server, subagent bool) {
	body := string(lastRequest(model).Body)
	return strings.Contains(body, "server"+name), strings.Contains(body, "sub"+name)
}

// If the first session is in another directory than the agent, at once or after the prewarmed droid has read the agent's directory, it has
// the servers, hooks and subagents of its directory, and only those.
func TestFirstSessionInOtherDirectory(t *testing.T) {
	notKept(t, "it counts the droids of one editor after the other, and the server keeps those of the first")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, waits := range []bool{false, true} {
			name := fmt.Sprint("waits=", waits)
			h.project(t, "work") // the agent's directory
			asked := h.project(t, "asked")
			model.On("hello", modelserver.Step{Text: "Hello."})
			h.forgetRan(t)
			c := startAgent(t, h, "--trust", "always").initialize()
			if waits {
				h.awaitRan(t, "server-of-work", 4*time.Second)
				h.forgetRan(t)
			}
			var s newSession
			c.mustCall("session/new", map[string]any{"cwd": asked, "mcpServers": []any{}}, &s)
			if waits {
				require.False(t, h.ran(t)["hook-of-work"], name)
			}
			require.True(t, h.awaitRan(t, "server-of-asked", turnLimit), name)
			require.Eventually(t, func() bool { // until the model is offered the server
				require.Equal(t, "Hello.", session{c, s.SessionID}.prompt("hello").end(turnLimit).text(), name)
				server, subagent := toldOf(model, "asked")
				return server && subagent
			}, turnLimit, 500*time.Millisecond, name)
			server, subagent := toldOf(model, "work")
			require.False(t, server, name)
			require.False(t, subagent, name)
			ran := h.ran(t)
			require.True(t, ran["hook-of-asked"], name)
			require.False(t, ran["hook-of-work"], name)
			if waits {
				require.False(t, ran["server-of-work"], "%s: it ran before the session", name)
			}
			require.Equal(t, 1, h.droids(t), name)
			self, err := os.Executable()
			require.NoError(t, err)
			servers := 0
			for _, p := range h.processes(t) {
				if strings.HasPrefix(p.command, self) {
					servers++
				}
			}
			require.Equal(t, 1, servers, "%s: servers that run", name)
			c.end(h)
		}
	})
}

// where scripts a command that prints droid's working directory.
func where(id string) []modelserver.Step {
	return []modelserver.Step{{Text: "I look. ", Tools: []modelserver.ToolCall{execute(id, "pwd; echo "+id+" >> by-command.txt"),
		{ID: id + "-made", Name: "Create", Args: map[string]any{"file_path": id + ".txt", "content": "made"}}}}, {Text: "Seen."}}
}

// worksIn checks by a turn in which directory droid works, and that the model's context names it.
func (s session) worksIn(model *modelserver.Server, word, dir string) {
	s.t.Helper()
	end := s.prompt(word).end(turnLimit)
	require.Nil(s.t, end.Err)
	require.Contains(s.t, end.results()[word], dir+"\n")
	require.FileExists(s.t, filepath.Join(dir, word+".txt"))
	data, err := os.ReadFile(filepath.Join(dir, "by-command.txt"))
	require.NoError(s.t, err)
	require.Contains(s.t, string(data), word)
	require.Contains(s.t, string(lastRequest(model).Body), dir, "the model is told")
	var state struct{ CWD string }
	s.mustCall("_droid/state", map[string]any{"sessionId": s.id}, &state)
	require.Equal(s.t, dir, state.CWD)
	require.Contains(s.t, s.listedIn(dir), s.id)
}

// listedIn returns the IDs of the sessions of a directory.
func (c *client) listedIn(dir string) (ids []string) {
	c.t.Helper()
	var result struct {
		Sessions []struct{ SessionID, CWD string }
	}
	c.mustCall("session/list", map[string]any{"cwd": dir}, &result)
	for _, s := range result.Sessions {
		require.Equal(c.t, dir, s.CWD)
		ids = append(ids, s.SessionID)
	}
	return ids
}

func stored(id, cwd string) map[string]any {
	return map[string]any{"sessionId": id, "cwd": cwd, "mcpServers": []any{}}
}

// A project was moved: its session continues in the new directory, in this agent and the next one, also after droid was killed.
func TestMovedProject(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, word := range []string{"first", "second", "third", "fourth", "fifth"} {
			model.On(word, where(word)...)
		}
		before, after := filepath.Join(h.dir, "before"), filepath.Join(h.dir, "after")
		require.NoError(t, os.Mkdir(before, 0o755))
		spareless := []string{"--spare", "none"} // the sessions are in other directories than the agents
		c := startAgent(t, h, spareless...).onPermission(allowOnce).initialize()
		var s newSession
		c.mustCall("session/new", map[string]any{"cwd": before, "mcpServers": []any{}}, &s)
		session{c, s.SessionID}.worksIn(model, "first", before)
		c.end(h)
		require.NoError(t, os.Rename(before, after))

		c = startAgent(t, h, spareless...)
		c.onPermission(allowOnce)
		c.initialize()
		_, err := c.call("session/load", stored(s.SessionID, before))
		require.NotNil(t, err)
		require.Contains(t, err.Message, "cwd cannot be used")
		c.mustCall("session/load", stored(s.SessionID, after), nil)
		moved := session{c, s.SessionID}
		moved.worksIn(model, "second", after)
		h.killDroid(t)
		require.Eventually(t, func() bool { return moved.prompt("third").end(turnLimit).Err == nil }, 20*time.Second, 100*time.Millisecond)
		require.FileExists(t, filepath.Join(after, "third.txt"))
		c.end(h)

		c = startAgent(t, h, spareless...)
		c.onPermission(allowOnce)
		c.initialize()
		c.mustCall("session/resume", stored(s.SessionID, after), nil)
		resumed := session{c, s.SessionID}
		resumed.worksIn(model, "fourth", after)
		require.Nil(t, resumed.prompt("/rewind 1").end(turnLimit).Err)
		resumed.worksIn(model, "fifth", after)
	})
}

// A session is forked into a worktree: the fork edits the worktree, the original stays in its directory. It is the same whether the session
// is open or not, and for a load elsewhere.
func TestForkIntoAWorktree(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, word := range []string{"made", "open", "stayed", "closed", "loaded"} {
			model.On(word, where(word)...)
		}
		tree := filepath.Join(h.dir, "tree")
		for _, args := range [][]string{{"init", "-q"}, {"config", "user.email", "a@b.test"}, {"config", "user.name", "A"},
			{"commit", "-q", "--allow-empty", "-m", "a"}, {"worktree", "add", "-q", tree}} {
			require.NoError(t, command(h.work, "git", args...))
		}
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.open(h)
		s.worksIn(model, "made", h.work)
		var forked newSession
		c.mustCall("session/fork", stored(s.id, tree), &forked)
		session{c, forked.SessionID}.worksIn(model, "open", tree)
		s.worksIn(model, "stayed", h.work)
		for _, id := range []string{s.id, forked.SessionID} {
			c.mustCall("session/close", map[string]any{"sessionId": id}, nil)
		}
		h.awaitNoDroid(t, 10*time.Second)
		c.mustCall("session/fork", stored(s.id, tree), &forked)
		session{c, forked.SessionID}.worksIn(model, "closed", tree)
		for _, word := range []string{"open", "closed"} {
			require.NoFileExists(t, filepath.Join(h.work, word+".txt"))
		}
		c.mustCall("session/load", stored(forked.SessionID, h.work), nil)
		session{c, forked.SessionID}.worksIn(model, "loaded", h.work)
		require.NoFileExists(t, filepath.Join(tree, "loaded.txt"))
	})
}
