//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// secretPattern matches each secret of these tests, in a form that does not match itself, so that a command line that searches for it does
// not contain one.
const secretPattern = `S[E]CRET-[a-z]+-[a-z]+`

var secretWords = regexp.MustCompile(secretPattern)

// secretServers are MCP servers of a session whose environment and headers hold secrets.
func secretServers(t *testing.T, session, url string) []any {
	t.Helper()
	stdio := stdioServer(t, "tiny", "hello ")
	stdio["env"] = append(stdio["env"].([]any), map[string]any{"name": "TOKEN", "value": "SECRET-environment-" + session})
	return []any{stdio, map[string]any{"type": "http", "name": "web", "url": url,
		"headers": []any{map[string]any{"name": "Authorization", "value": "SECRET-header-" + session}}}}
}

// place is a file of a process.
type place struct{ path, name string }

// places returns what the processes of a home show in /proc, as far as it can be read without blocking.
func (c *client) places(h home) []place {
	c.t.Helper()
	var found []place
	add := func(pid int, name string) {
		dir := fmt.Sprintf("/proc/%d/", pid)
		found = append(found, place{dir + "environ", "environment of " + name}, place{dir + "cmdline", "command line of " + name})
		fds, _ := os.ReadDir(dir + "fd") // it may be gone
		for _, fd := range fds {
			path := dir + "fd/" + fd.Name()
			target, _ := os.Readlink(path)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && strings.HasPrefix(target, "/") && !strings.HasPrefix(target, h.dir) && info.Size() < 1<<20 {
				found = append(found, place{path, "open file of " + name})
			}
		}
	}
	add(c.cmd.Process.Pid, "the agent")
	for _, p := range h.processes(c.t) {
		switch {
		case p.droid:
			add(p.pid, "a droid")
		case strings.Contains(p.command, "e2e.test"):
			add(p.pid, "an MCP server")
		}
	}
	return found
}

// searchID matches the ID of a search call, as droid passes it on: 0.225 extends it.
var searchID = regexp.MustCompile(`(grep|read|execute)-[0-9]+`)

// toolResults returns the results of a search's calls that the model got, by ID.
func toolResults(t *testing.T, model *modelserver.Server) map[string]string {
	t.Helper()
	results := map[string]string{}
	for _, r := range model.Requests() {
		var body struct {
			Messages []struct {
				Role       string `json:"role"`
				ToolCallID string `json:"tool_call_id"`
				modelserver.Message
			} `json:"messages"`
		}
		require.NoError(t, json.Unmarshal(r.Body, &body))
		for _, m := range body.Messages {
			if id := searchID.FindString(m.ToolCallID); id != "" {
				results[id] = m.Text()
			}
		}
	}
	return results
}

// A model can find the secrets of MCP servers, those of its session and of another one, with the tools that need no permission and with a
// command, as described in SECURITY.md: in the environment of the server processes, which the system shows to each program of the user.
func TestSecretsOfMCPServers(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		useMCP(model, "use", "tiny", "web")
		tmp := filepath.Join(h.dir, "tmp")
		require.NoError(t, os.Mkdir(tmp, 0o700))
		h.env = append(h.env, "TMPDIR="+tmp)
		url, authorized := mcpHTTP(t)
		c := startAgent(t, h).onPermission(allowOnce)
		other := c.openAs(h, map[string]any{}, secretServers(t, "other", url)...)
		require.Equal(t, "completed hello tiny", other.prompt("use").end(turnLimit).results()["use-tiny"])
		var result newSession
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": secretServers(t, "own", url)}, &result)
		own := session{c, result.SessionID}
		h.awaitServers(t, c, 2)

		processes := c.places(h)
		places := append([]place{{h.dir, "HOME"}, {tmp, "TMPDIR"}, {filepath.Join(h.dir, ".factory"), "droid's store"}}, processes...)
		names, paths := map[string]string{}, ""
		var grep, read []modelserver.ToolCall
		for i, p := range places {
			id := fmt.Sprint(i)
			grep = append(grep, modelserver.ToolCall{ID: "grep-" + id, Name: "Grep", Args: map[string]any{"pattern": secretPattern, "path": p.path, "output_mode": "file_paths"}})
			read = append(read, modelserver.ToolCall{ID: "read-" + id, Name: "Read", Args: map[string]any{"file_path": p.path}})
			names["grep-"+id], names["read-"+id] = p.name, p.name
			paths += " " + p.path
		}
		look := fmt.Sprintf("grep -aoEHrs '%s'%s", secretPattern, paths)
		model.On("search", modelserver.Step{Tools: grep}, modelserver.Step{Tools: []modelserver.ToolCall{execute("execute-0", look)}},
			modelserver.Step{Tools: read}, modelserver.Step{Text: "Searched."})
		require.Nil(t, own.prompt("search").end(2*turnLimit).Err)
		require.Len(t, c.asked(), 2+1, "of the search, only the command was asked about")

		found := map[string]bool{}
		for id, text := range toolResults(t, model) {
			switch tool, _, _ := strings.Cut(id, "-"); tool {
			case "grep":
				if !strings.HasPrefix(text, "No match") && !strings.HasPrefix(text, "Error") {
					found["Grep: "+names[id]] = true
				}
			case "read":
				for _, word := range secretWords.FindAllString(text, -1) {
					found["Read: "+names[id]+": "+word] = true
				}
			case "execute":
				for _, line := range strings.Split(text, "\n") {
					path, word, _ := strings.Cut(line, ":")
					if !secretWords.MatchString(word) {
						continue
					}
					name := path
					if i := slices.IndexFunc(places, func(p place) bool { return p.path == path }); i >= 0 {
						name = places[i].name
					}
					found["Execute: "+name+": "+word] = true
				}
			}
		}
		var list []string
		for what := range found {
			list = append(list, what)
		}
		slices.Sort(list)
		t.Logf("%s, %d places in /proc:\n%s", h.version, len(processes), strings.Join(list, "\n"))
		require.Equal(t, []string{
			"Execute: environment of an MCP server: SECRET-environment-other",
			"Execute: environment of an MCP server: SECRET-environment-own",
			"Grep: environment of an MCP server",
			"Read: environment of an MCP server: SECRET-environment-other",
			"Read: environment of an MCP server: SECRET-environment-own",
		}, list)
		require.Contains(t, authorized(), "SECRET-header-own", "the servers got them")
		end := own.prompt("use").end(turnLimit)
		require.Equal(t, "completed hello tiny", end.results()["use-tiny"])
		require.Equal(t, "completed over http: web", end.results()["use-web"])
	})
}

// awaitServers waits until so many MCP servers run.
func (h home) awaitServers(t *testing.T, c *client, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		n := 0
		for _, p := range c.places(h) {
			if p.name == "environment of an MCP server" {
				n++
			}
		}
		return n == want
	}, 30*time.Second, 100*time.Millisecond)
}

// shown returns the secrets in the agent's open files.
func (c *client) shown(h home) (words []string) {
	for _, p := range c.places(h) {
		if p.name == "open file of the agent" {
			data, _ := os.ReadFile(p.path) // it may be closed
			words = append(words, secretWords.FindAllString(string(data), -1)...)
		}
	}
	return words
}

// TestSecretsOfASessionWithoutAPrompt measures how long another session's model could read the servers' secrets of a session that is opened
// and not prompted: from when droid is running until it has read them all. (Older droids have when they answer.)
func TestSecretsOfASessionWithoutAPrompt(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	h := newHome(t, newDroid, model.URL())
	url, _ := mcpHTTP(t)
	c := startAgent(t, h).onPermission(allowOnce)
	c.initialize()
	began, opened := time.Now(), make(chan struct{})
	var first, last time.Duration
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		var until time.Time
		for ; until.IsZero() || time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
			if len(c.shown(h)) > 0 {
				if last = time.Since(began); first == 0 {
					first = last
				}
				until = time.Time{}
			}
			select {
			case <-opened:
				if until.IsZero() {
					until = time.Now().Add(2 * time.Second)
				}
			default:
			}
		}
	}()
	var result newSession
	c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": secretServers(t, "own", url)}, &result)
	answered := time.Since(began)
	close(opened)
	<-watched
	t.Logf("%s: answered after %v, to be read from %v to %v", h.version, answered, first, last)
	require.Less(t, last-first, 9*time.Second, "it is not read for as long as it may be")
	s := session{c, result.SessionID}
	useMCP(model, "use", "tiny", "web")
	end := s.prompt("use").end(turnLimit)
	require.Equal(t, "completed hello tiny", end.results()["use-tiny"], "%s", end.notices())
	require.Equal(t, "completed over http: web", end.results()["use-web"], "%s", end.notices())
}

// The servers stay though droid's settings file no longer has them: in later turns, when the user changes droid's settings, and in
// successor sessions.
func TestServersStayWithoutTheirSecrets(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		url, _ := mcpHTTP(t)
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.openAs(h, map[string]any{}, secretServers(t, "own", url)...)
		works := func(when string) {
			t.Helper()
			useMCP(model, when, "tiny", "web")
			end := s.prompt(when).end(turnLimit)
			require.Nil(t, end.Err, when)
			require.Equal(t, "completed hello tiny", end.results()[when+"-tiny"], "%s: %s", when, end.notices())
			require.Equal(t, "completed over http: web", end.results()[when+"-web"], "%s: %s", when, end.notices())
			require.Empty(t, c.shown(h), when)
		}
		works("first")
		works("second")
		h.addSettings(t, map[string]any{"a": 1}) // droid goes on with the servers that it has
		users, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"another": map[string]any{
			"type": "stdio", "command": stdioServer(t, "", "")["command"], "env": map[string]string{mcpEnv: "another"}}}})
		require.NoError(t, err)
		h.write(t, "../.factory/mcp.json", string(users))
		works("settings")
		require.Nil(t, s.prompt("/rewind 1").end(turnLimit).Err)
		works("rewound")
		if h.does(t, stream.CompactsWithoutLogin) {
			require.Nil(t, s.prompt("/compact").end(turnLimit).Err)
			works("compacted")
		}
		c.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": secretServers(t, "own", url)}, nil)
		works("loaded")
		h.killDroid(t)
		_ = s.prompt("go on").end(turnLimit) // it may be the one that finds out
		works("restarted")
	})
}
