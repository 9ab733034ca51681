//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// gatewayServer is a gateway on loopback in front of a scripted model: it has two models, and wants the headers of the client.
type gatewayServer struct {
	url     string
	model   *modelserver.Server
	headers map[string]string

	mu    sync.Mutex
	paths []string
}

// newGateway starts a gateway. Each header holds a secret with this word.
func newGateway(t *testing.T, word string) *gatewayServer {
	t.Helper()
	g := &gatewayServer{model: newModel(t), headers: map[string]string{"Authorization": "Bearer SECRET-bearer-" + word}}
	for _, name := range strings.Fields("x-api-key api-key x-auth x-tenant x-one x-two state") {
		g.headers[name] = "SECRET-" + strings.ReplaceAll(strings.TrimPrefix(name, "x-"), "-", "") + "-" + word
	}
	to, err := url.Parse(strings.TrimSuffix(g.model.URL(), "/v1"))
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // droid has gone
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.paths = append(g.paths, r.URL.Path)
		g.mu.Unlock()
		for name, value := range g.headers {
			if r.Header.Get(name) != value {
				http.Error(w, "the header "+name+" is missing", http.StatusUnauthorized)
				return
			}
		}
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"gw-1"},{"id":"org/gw-2"}]}`))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	g.url = s.URL
	return g
}

// asked returns how often the gateway was asked at a path.
func (g *gatewayServer) asked(path string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.paths {
		if p == path {
			n++
		}
	}
	return n
}

// set sets the gateway as the provider of the client.
func (c *client) setProvider(g *gatewayServer, apiType string) {
	c.t.Helper()
	c.mustCall("providers/set", map[string]any{"providerId": "main", "apiType": apiType, "baseUrl": g.url, "headers": g.headers}, nil)
}

// current returns what the provider is set to, "null" for nothing.
func (c *client) currentProvider() string {
	c.t.Helper()
	var r struct {
		Providers []struct{ Current json.RawMessage }
	}
	c.mustCall("providers/list", map[string]any{}, &r)
	require.Len(c.t, r.Providers, 1)
	return string(r.Providers[0].Current)
}

// sets sets the model of the session.
func (s session) setsModel(model string) *rpcError {
	_, err := s.call("session/set_config_option", map[string]any{"sessionId": s.id, "configId": "model", "value": model})
	return err
}

// saysFrom checks that a prompt is answered by this model.
func (s session) saysFrom(model *modelserver.Server, prompt string) {
	s.t.Helper()
	model.On(prompt, modelserver.Step{Text: "Answer to " + prompt + "."})
	end := s.prompt(prompt).end(turnLimit)
	require.Nil(s.t, end.Err, "%s", end.notices())
	require.Contains(s.t, end.text(), "Answer to "+prompt+".")
}

// provided runs a test with each droid of a run, and with 0.215 where it is there.
func provided(t *testing.T, test func(t *testing.T, model *modelserver.Server, h home)) {
	notKept(t, "TestProvidersOfTwoWindows is about that")
	eachVersion(t, test)
}

// TestProviderOfTheClient: a gateway that wants headers is the session's from the start, is switched while a turn runs, and taken back.
func TestProviderOfTheClient(t *testing.T) {
	ofAdapter(t)
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, apiType := range []string{"openai", "anthropic"} {
			one, two := newGateway(t, "one"), newGateway(t, "two")
			c := startAgent(t, h).onPermission(allowOnce).initialize()
			require.Empty(t, strings.Trim(c.currentProvider(), "nul"))
			before := c.openSession(h)
			before.saysFrom(model, "own-"+apiType)
			c.setProvider(one, apiType)
			require.JSONEq(t, fmt.Sprintf(`{"apiType":%q,"baseUrl":%q}`, apiType, one.url), c.currentProvider())
			before.saysFrom(model, "still-own-"+apiType) // the session's model is the user's
			s := c.openSession(h)
			s.saysFrom(one.model, "first-"+apiType) // with the gateway's first model
			if testing.Short() && apiType == "anthropic" {
				c.end(h)
				continue // what follows does not depend on the API: TestProviderReplacesDroids and others of internal/adapter/session
			}
			require.Nil(t, s.setsModel("custom:main:org/gw-2"))
			s.saysFrom(one.model, "second-"+apiType)
			require.Nil(t, s.setsModel(modelserver.ModelID))
			s.saysFrom(model, "third-"+apiType)
			require.Nil(t, s.setsModel("custom:main:gw-1"))
			s.saysFrom(one.model, "fourth-"+apiType)

			// a switch in the middle of a turn
			one.model.On("long-"+apiType, modelserver.Step{Text: "Begun.", Tools: []modelserver.ToolCall{execute("wait", "sleep 2")}}, modelserver.Step{Text: "Ended."})
			long := s.prompt("long-" + apiType)
			long.awaitUpdate("the call", func(u update) bool { return u.ToolCallID != "" && u.Status == "in_progress" })
			c.setProvider(two, apiType)
			end := long.end(turnLimit)
			require.Nil(t, end.Err)
			require.Contains(t, end.text(), "Ended.", "the turn ends as it began")
			s.saysFrom(two.model, "after-"+apiType)

			c.mustCall("providers/disable", map[string]any{"providerId": "main"}, nil)
			require.Empty(t, strings.Trim(c.currentProvider(), "nul"))
			asked := two.asked("/v1/chat/completions") + two.asked("/v1/messages")
			failed := s.prompt("gone-" + apiType).end(turnLimit)
			require.NotNil(t, failed.Err)
			require.Contains(t, string(failed.Err.Data)+failed.Err.Message, `The model \"gw-1\" of this session is one of the provider \"main\", which the editor has not set.`)
			require.Nil(t, s.setsModel(modelserver.ModelID))
			s.saysFrom(model, "own-again-"+apiType)
			require.Equal(t, asked, two.asked("/v1/chat/completions")+two.asked("/v1/messages"))
			c.end(h)
		}
	})
}

// TestProviderMethods tests all methods and capabilities, with clients that declare gateways and clients that do not, live, after a
// restart, and in two windows of one server.
func TestProviderMethods(t *testing.T) {
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		kept := newHome(t, h.version, model.URL()).keeps(t)
		for _, in := range []*home{&h, &kept} {
			in.env = append(in.env, "DROID_ACP_SPARE=none") // each change of the provider would replace it
		}
		for _, declared := range []bool{false, true} {
			for _, where := range []string{"live", "restarted", "window 1", "window 2"} {
				in, c := h, (*client)(nil)
				if strings.HasPrefix(where, "window") {
					in = kept
					c = startKept(t, in)
				} else {
					c = startAgent(t, in)
				}
				capabilities := map[string]any{}
				if declared {
					capabilities["auth"] = map[string]any{"_meta": map[string]any{"gateway": true}}
				}
				var r struct {
					AgentCapabilities map[string]json.RawMessage
					AuthMethods       []struct{ ID string }
				}
				c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": knownEditor}, &r)
				require.JSONEq(t, `{}`, string(r.AgentCapabilities["providers"]))
				require.JSONEq(t, `{"logout":{},"status":{}}`, string(r.AgentCapabilities["auth"]))
				var methods []string
				for _, m := range r.AuthMethods {
					methods = append(methods, m.ID)
				}
				require.Equal(t, declared, slices.Contains(methods, "gateway") && slices.Contains(methods, "gateway-anthropic"))

				g := newGateway(t, "own")
				set := map[string]any{"providerId": "main", "apiType": "openai", "baseUrl": g.url, "headers": g.headers}
				with := func(key, value string) map[string]any {
					other := maps.Clone(set)
					other[key] = value
					return other
				}
				status := func(state string) string { return `{"state":"` + state + `"` }
				var rows []string
				for _, row := range []struct {
					method string
					params any
					want   string // the beginning of the result, or the code of the error
				}{
					{"providers/list", map[string]any{}, `{"providers":[{"providerId":"main","supported":["openai","anthropic"],"required":false}]}`},
					{"auth/status", map[string]any{}, status("unknown")},
					{"providers/set", with("providerId", "other"), "-32602"},
					{"providers/set", with("apiType", "azure"), "-32602"},
					{"providers/set", with("baseUrl", "http://models.example.com"), "-32602"},
					{"providers/set", with("baseUrl", "http://u:p@127.0.0.1"), "-32602"},
					{"providers/set", with("baseUrl", "http://127.0.0.1:1"), "-32603"},
					{"providers/list", map[string]any{}, `{"providers":[{"providerId":"main","supported":["openai","anthropic"],"required":false}]}`},
					{"providers/set", set, `{}`},
					{"providers/list", map[string]any{}, fmt.Sprintf(`{"providers":[{"providerId":"main","supported":["openai","anthropic"],"required":false,"current":{"apiType":"openai","baseUrl":%q}}]}`, g.url)},
					{"auth/status", map[string]any{}, status("authenticated")},
					{"providers/disable", map[string]any{"providerId": "other"}, `{}`},
					{"auth/status", map[string]any{}, status("authenticated")},
					{"providers/disable", map[string]any{"providerId": "main"}, `{}`},
					{"auth/status", map[string]any{}, status("unknown")},
					{"authenticate", map[string]any{"methodId": "gateway-anthropic", "_meta": map[string]any{"gateway": map[string]any{"baseUrl": g.url, "headers": g.headers}}}, `{}`},
					{"auth/status", map[string]any{}, status("authenticated")},
					{"logout", map[string]any{}, `{"_meta":{"droid-acp":{"notice":"The keys that were given to this agent are forgotten`},
					{"auth/status", map[string]any{}, status("unknown")},
					{"logout", map[string]any{}, `{"_meta":{"droid-acp":{"notice":"No keys were given to this agent.`},
					{"providers/set", set, `{}`},
				} {
					result, err := c.call(row.method, row.params)
					got := string(result)
					if err != nil {
						got = fmt.Sprint(err.Code)
					}
					rows = append(rows, fmt.Sprintf("%s | %.60s", row.method, got))
					require.Truef(t, strings.HasPrefix(got, row.want), "%s, %s: %s instead of %s\n%s", where, row.method, got, row.want, strings.Join(rows, "\n"))
				}
				if declared { // TestProviderOfTheClient and TestProvidersOfTwoWindows have sessions of the others
					c.openSession(in).saysFrom(g.model, "hello")
				}
				t.Logf("droid %s, declared: %v, %s:\n%s", h.version, declared, where, strings.Join(rows, "\n"))
				if in.dir == h.dir {
					c.end(h)
				}
			}
		}
	})
}

// TestLoadWithoutItsProvider: after a restart a session says which provider it lacks, before droid fails, and goes on when that is set.
func TestLoadWithoutItsProvider(t *testing.T) {
	ofAdapter(t)
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		g := newGateway(t, "own")
		c := startAgent(t, h).initialize()
		c.setProvider(g, "openai")
		s := c.openSession(h)
		s.saysFrom(g.model, "first")
		c.end(h)
		require.Empty(t, model.Requests(), "nothing of it went to the user's model, not even for a title")

		c = startAgent(t, h).initialize()
		load := map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}
		c.mustCall("session/load", load, nil)
		c.await("the notice", 0, turnLimit, func(l line) bool {
			return strings.Contains(l.raw, `one of the provider \"main\", which the editor has not set`) && strings.Contains(l.raw, modelserver.ModelID)
		})
		s = session{c, s.id}
		require.NotNil(t, s.prompt("second").end(turnLimit).Err)
		c.setProvider(g, "openai")
		s.saysFrom(g.model, "third")
		c.end(h)

		c = startAgent(t, h).initialize()
		c.mustCall("session/load", load, nil)
		s = session{c, s.id}
		require.Nil(t, s.setsModel(modelserver.ModelID))
		s.saysFrom(model, "fourth")
	})
}

// TestProviderBeforeTheUsersModels: the user's default, also that of spec mode, and a name that the user's model shares with the gateway's
// do not take a session elsewhere, and the user's model keeps its ID.
func TestProviderBeforeTheUsersModels(t *testing.T) {
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		g := newGateway(t, "own")
		name := "gw-1 (" + strings.TrimPrefix(g.url, "http://") + ")"
		h.addSettings(t, map[string]any{
			"customModels":           []any{map[string]any{"model": "users", "displayName": name, "baseUrl": model.URL(), "apiKey": "none", "provider": "generic-chat-completion-api"}},
			"sessionDefaultSettings": map[string]any{"model": "custom:" + strings.ReplaceAll(name, " ", "-") + "-0", "specModeModel": "custom:" + strings.ReplaceAll(name, " ", "-") + "-0"},
		})
		c := startAgent(t, h).initialize()
		c.openSession(h).saysFrom(model, "users")
		c.setProvider(g, "openai")
		s := c.openSession(h)
		s.saysFrom(g.model, "first")
		c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "spec"}, nil)
		s.saysFrom(g.model, "plan")
		require.Nil(t, s.setsModel("custom:"+strings.ReplaceAll(name, " ", "-")+"-0"))
		c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "normal"}, nil)
		s.saysFrom(model, "users again")
	})
}

// TestProviderStays: the models stay though the file has their keys only while droid reads it.
func TestProviderStays(t *testing.T) {
	ofAdapter(t)
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		g := newGateway(t, "own")
		c := startAgent(t, h).onPermission(allowOnce).initialize()
		c.setProvider(g, "openai")
		s := c.openSession(h)
		works := func(when string) {
			t.Helper()
			s.saysFrom(g.model, when)
			require.Empty(t, c.shown(h), when)
		}
		works("first")
		works("second")
		h.addSettings(t, map[string]any{"a": 1}) // droid reads its settings again
		time.Sleep(2 * time.Second)
		works("settings")
		require.Nil(t, s.setsModel("custom:main:org/gw-2"))
		works("another model")
		require.Nil(t, s.prompt("/rewind 1").end(turnLimit).Err)
		works("rewound")
		if h.does(t, stream.CompactsWithoutLogin) {
			require.Nil(t, s.prompt("/compact").end(turnLimit).Err)
			works("compacted")
		}
		c.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		works("loaded")
		h.killDroid(t)
		_ = s.prompt("go on").end(turnLimit) // it may be the one that finds out
		works("restarted")
	})
}

// TestSecretsOfAProvider: the eight headers are in no file, log, answer, argument, variable or page, and the session's model finds none
// with the tools that ask for no permission.
func TestSecretsOfAProvider(t *testing.T) {
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		g := newGateway(t, "own")
		tmp := filepath.Join(h.dir, "tmp")
		require.NoError(t, os.Mkdir(tmp, 0o700))
		h.env = append(h.env, "TMPDIR="+tmp)
		c := startAgent(t, h, "--log-file", filepath.Join(h.dir, "agent.log"), "--log-level", "debug").onPermission(allowOnce).initialize()
		c.setProvider(g, "openai")
		refused := map[string]any{"providerId": "main", "apiType": "openai", "baseUrl": "http://user:SECRET-password-own@127.0.0.1:1", "headers": g.headers}
		_, err := c.call("providers/set", refused)
		require.Equal(t, -32602, err.Code)
		refused["baseUrl"], refused["headers"] = "http://127.0.0.1:1", map[string]any{"x-bad": "SECRET-bad-own\n"}
		_, err = c.call("providers/set", refused)
		require.Equal(t, -32602, err.Code)
		s := c.openSession(h)
		s.saysFrom(g.model, "first")

		places := append([]place{{h.dir, "HOME"}, {tmp, "TMPDIR"}, {filepath.Join(h.dir, ".factory"), "droid's store"}}, c.places(h)...)
		var grep, read []modelserver.ToolCall
		for i, p := range places {
			grep = append(grep, modelserver.ToolCall{ID: fmt.Sprint("grep-", i), Name: "Grep", Args: map[string]any{"pattern": secretPattern, "path": p.path, "output_mode": "content"}})
			read = append(read, modelserver.ToolCall{ID: fmt.Sprint("read-", i), Name: "Read", Args: map[string]any{"file_path": p.path}})
		}
		g.model.On("search", modelserver.Step{Tools: grep}, modelserver.Step{Tools: read}, modelserver.Step{Text: "Searched."})
		require.Nil(t, s.prompt("search").end(2*turnLimit).Err)
		results := toolResults(t, g.model)
		require.NotEmpty(t, results)
		for id, text := range results {
			require.Empty(t, secretWords.FindAllString(text, -1), id)
		}

		for _, command := range []string{"/status", "/export " + filepath.Join(h.dir, "page.html"), "/report " + filepath.Join(h.dir, "report.txt"), "/report with-texts " + filepath.Join(h.dir, "texts.txt"), "/help", "/model"} {
			require.Nil(t, s.prompt(command).end(turnLimit).Err, command)
		}
		c.mustCall("_droid/state", map[string]any{"sessionId": s.id}, nil)
		c.mustCall("_droid/models", map[string]any{"sessionId": s.id}, nil)
		g.headers["Authorization"] = "Bearer another" // a gateway that refuses: droid's error
		_ = s.prompt("refused").end(turnLimit)
		for _, p := range c.places(h) {
			data, _ := os.ReadFile(p.path) // it may be closed
			require.Empty(t, secretWords.FindAllString(string(data), -1), p)
		}
		report, _ := h.serverCommand(t, "doctor", "--json")
		require.NotContains(t, report, "SECRET")
		c.end(h)
		for _, l := range c.lines {
			require.Empty(t, secretWords.FindAllString(l.raw, -1))
		}
		require.Empty(t, secretWords.FindAllString(c.stderr.String(), -1))
		files := 0
		require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			require.Empty(t, secretWords.FindAllString(string(data), -1), path)
			return err
		}))
		require.Greater(t, files, 5)
	})
}

// TestKilledAgentLeavesNoKeys: what an agent that is killed has held is in no file.
func TestKilledAgentLeavesNoKeys(t *testing.T) {
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		g := newGateway(t, "own")
		tmp := filepath.Join(h.dir, "tmp")
		require.NoError(t, os.Mkdir(tmp, 0o700))
		h.env = append(h.env, "TMPDIR="+tmp)
		c := startAgent(t, h).initialize()
		c.setProvider(g, "openai")
		c.openSession(h)
		require.NoError(t, c.cmd.Process.Kill())
		<-c.exited
		h.awaitNoDroid(t, 20*time.Second)
		require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			require.Empty(t, secretWords.FindAllString(string(data), -1), path)
			return err
		}))
	})
}

// TestProvidersOfTwoWindows: two windows of one server have different gateways, and neither hears of the other's; nothing of them is in the
// server's files.
func TestProvidersOfTwoWindows(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		if !h.kept {
			h = h.keeps(t)
		}
		one, two := newGateway(t, "one"), newGateway(t, "two")
		windows := map[*gatewayServer]*client{one: startKept(t, h).initialize(), two: startKept(t, h).initialize()}
		none := startKept(t, h).initialize()
		sessions := map[*gatewayServer]session{}
		for g, c := range windows {
			c.setProvider(g, "openai")
		}
		for g, c := range windows {
			sessions[g] = c.openSession(h)
		}
		plain := none.openSession(h)
		for i := range 2 {
			for g, s := range sessions {
				s.saysFrom(g.model, fmt.Sprint("prompt ", i))
				require.JSONEq(t, fmt.Sprintf(`{"apiType":"openai","baseUrl":%q}`, g.url), s.currentProvider())
			}
			plain.saysFrom(model, fmt.Sprint("prompt ", i))
		}
		require.Empty(t, strings.Trim(none.currentProvider(), "nul"))

		// the second window opens the session of the first, which has gone
		require.NoError(t, windows[one].stdin.Close())
		<-windows[one].exited
		require.Eventually(t, func() bool { // the server hears of that a little later
			_, err := windows[two].call("session/load", map[string]any{"sessionId": sessions[one].id, "cwd": h.work, "mcpServers": []any{}})
			return err == nil
		}, turnLimit, 100*time.Millisecond)
		session{windows[two], sessions[one].id}.saysFrom(two.model, "over there")

		windows[two].mustCall("logout", map[string]any{}, nil)
		failed := sessions[two].prompt("gone").end(turnLimit)
		require.NotNil(t, failed.Err)
		require.Contains(t, string(failed.Err.Data)+failed.Err.Message, "which the editor has not set")
		for _, text := range []string{windows[one].transcript(), windows[two].transcript(), none.transcript()} {
			require.Empty(t, secretWords.FindAllString(text, -1))
		}
		require.NotContains(t, none.transcript(), one.url)
		require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // a file of the server that has just gone
			}
			data, _ := os.ReadFile(path)
			require.Empty(t, secretWords.FindAllString(string(data), -1), path)
			return nil
		}))
	})
}

// TestProviderRecipe runs the recipe of docs/models.md for companies as it stands, but for its address and its key.
func TestProviderRecipe(t *testing.T) {
	provided(t, func(t *testing.T, model *modelserver.Server, h home) {
		page, err := os.ReadFile(filepath.Join("..", "docs", "models.md"))
		require.NoError(t, err)
		_, section, ok := strings.Cut(string(page), "### Models of your editor or company")
		require.True(t, ok)
		recipe := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(section)[1]
		require.Contains(t, recipe, "https://models.example.com/v1")
		g := newGateway(t, "own")
		g.headers = map[string]string{"Authorization": "Bearer SECRET-company-own", "X-Department": "tools"}
		h.env = append(slices.Clip(h.env), "COMPANY_MODELS_KEY=SECRET-company-own")
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "settings.json"), []byte(strings.ReplaceAll(recipe, "https://models.example.com", g.url)), 0o600))
		c := startAgent(t, h).initialize()
		s := c.openSession(h)
		s.saysFrom(g.model, "hello")
	})
}
