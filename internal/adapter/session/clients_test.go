package session_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/fixture"
)

// beginNamed is beginAs as a client that gives itself a name, or none.
func beginNamed(t *testing.T, name, capabilities string, start starter) *editor {
	t.Helper()
	e := open(t, start)
	info := ""
	if name != "" {
		info = fmt.Sprintf(`,"clientInfo":{"name":%q,"version":"1"}`, name)
	}
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+info+`}`).Error)
	e.beginSession()
	return e
}

// recordedRequests are the permission requests of all fixtures, as droid made
// them; of those with the same options and kinds, one.
func recordedRequests(t *testing.T) map[string]fakedroid.Fields {
	all, err := fixture.LoadAll("../../../testdata/fixtures")
	require.NoError(t, err)
	requests := map[string]fakedroid.Fields{}
	seen := map[string]bool{}
	confirmation := regexp.MustCompile(`"(confirmationType|optionNames)":[^,]*`)
	for _, c := range all {
		for i, step := range c.Steps {
			var m struct {
				Method string
				Params fakedroid.Fields
			}
			if json.Unmarshal(step.Msg, &m) == nil && m.Method == "droid.request_permission" {
				alike := fmt.Sprint(m.Params["options"], confirmation.FindAllString(string(step.Msg), -1))
				if !seen[alike] {
					requests[fmt.Sprintf("%s %d", c.Name, i)] = m.Params
				}
				seen[alike] = true
			}
		}
	}
	require.NotEmpty(t, requests)
	return requests
}

// grants says how much an option gives away, by droid's own words: the more, the
// higher; -1 for what these tests do not know.
func grants(value, label string) int {
	level := regexp.MustCompile(`(?i)\b(low|medium|high)\b`).FindString(label)
	at := 10 * (1 + slices.Index([]string{"low", "medium", "high"}, strings.ToLower(level)))
	switch {
	case value == "cancel":
		return 0
	case value == "proceed_once":
		return 1
	case value == "proceed_always_tools", value == "proceed_always_file":
		return 2
	case value == "proceed_always_server", strings.HasPrefix(label, "Allow always ("):
		return 3
	case at > 0 && (value == "proceed_always" || strings.HasPrefix(value, "proceed_auto_run_")):
		return at
	}
	return -1
}

// Some clients act on the kind of an option, and some may not show the options' names. A single key in them allows no more than the least
// option of its kind.
func TestOneKeyGrantsTheLeast(t *testing.T) {
	requests := recordedRequests(t)
	var mcp fakedroid.Fields
	require.NoError(t, json.Unmarshal([]byte(`{"toolUses":[{"toolUse":{"id":"t","name":"tiny___echo","input":{}},"confirmationType":"mcp_tool",
		"details":{"type":"mcp_tool","toolName":"tiny___echo","impactLevel":"high"}}],
		"options":[{"label":"Yes, allow","value":"proceed_once"},{"label":"Yes, and always allow high impact commands (all commands)","value":"proceed_always"},
		{"label":"Always allow echo","value":"proceed_always_tools"},{"label":"Always allow all \"tiny\" tools","value":"proceed_always_server"},
		{"label":"Sure","value":"allow_forever"},{"label":"More","value":"proceed_surprise"},{"label":"No, cancel","value":"cancel"}]}`), &mcp))
	requests["MCP tool (0.225), and what no droid has yet"] = mcp
	for name, request := range requests {
		for _, client := range []string{"", "CodeCompanion.nvim", "acpx", "an editor of the future", "JetBrains.IDEA"} {
			for _, kind := range []string{"allow_once", "allow_always", "reject_once"} {
				name := name + " to " + client + ", " + kind
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { oneKey(t, name, client, kind, request) })
				})
			}
		}
	}
}

// selectedOption matches droid's answer to a permission request.
var selectedOption = regexp.MustCompile(`"selectedOption":"([^"]*)"`)

// oneKey makes a client answer a request by the kind of an option, and checks the answer to droid.
func oneKey(t *testing.T, name, client, kind string, request fakedroid.Fields) {
	var told string
	tap := func(line []byte) {
		if m := selectedOption.FindSubmatch(line); m != nil {
			told = string(m[1])
		}
	}
	script := eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		_, err := d.Request("droid.request_permission", request)
		time.Sleep(time.Minute) // for the answer
		return err
	})
	e := beginNamed(t, client, formClient, func(int) (*droid.Client, error) { return tappedDroid(tap, script), nil })
	var asked *permission
	e.ask = func(p permission) (id string) {
		asked = &p
		for _, o := range p.Options {
			if o.Kind == kind {
				require.True(t, id == "" || kind == "reject_once", "%s: there is one of a kind that allows", name)
				id = o.OptionID
			}
		}
		return id
	}
	e.onForm = func(protocol.ElicitationParams) string { return `{"action":"decline"}` } // for words with a refusal
	require.Equal(t, "end_turn", e.run("go"))
	if strings.Contains(fmt.Sprint(request), "optionNames") {
		require.Nil(t, asked, "of several plans none is picked blindly")
		return
	}
	require.NotNil(t, asked, name)
	label, least := "", 0
	offered, _ := request["options"].([]any)
	for _, o := range offered {
		o, _ := o.(map[string]any)
		value, text := fmt.Sprint(o["value"]), fmt.Sprint(o["label"])
		if value == told {
			label = text
		}
		if g := grants(value, text); g > 0 && kindOfOption(value) == kind && (least == 0 || g < least) {
			least = g
		}
	}
	require.NotEmpty(t, told, name)
	require.Equal(t, least, grants(told, label), "%s gives %s", name, told)
}

func kindOfOption(value string) string {
	switch value {
	case "proceed_once":
		return "allow_once"
	case "cancel":
		return "reject_once"
	}
	return "allow_always"
}

// An answer with an option of droid's that this client was not shown is a refusal.
func TestHiddenOptionIsARefusal(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		for _, hidden := range []string{"proceed_auto_run_high", "proceed_auto_run_medium", "edit_plan", "plan_0"} {
			var told strings.Builder
			e := beginNamed(t, "", formClient, func(int) (*droid.Client, error) {
				return tappedDroid(func(line []byte) { told.Write(line) }, uses(plan), v, fakedroid.WithMode("spec")), nil
			})
			e.ask = func(permission) string { return hidden }
			require.Equal(t, "end_turn", e.run("go"))
			require.Contains(t, told.String(), `"selectedOption":"cancel"`, hidden)
			e.close()
		}
	})
}

// soFar returns the messages until now, even if something is still running.
func (e *editor) soFar() []wireMessage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lines)
}

// messages are the agent's messages so far.
func (e *editor) messages() string {
	var all strings.Builder
	for _, m := range e.soFar() {
		who, text, _ := strings.Cut(shortUpdate(m.Params), ": ")
		if (who == "agent" || who == "notice") && m.Method == "session/update" {
			all.WriteString(text)
		}
	}
	return all.String()
}

// The user's setting for a client applies, even for a known client.
func TestUserSaysWhatTheClientShows(t *testing.T) {
	for shows, want := range map[string]int{"": 5, protocol.ShowsTitle: 3, protocol.ShowsContent: 3} {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, playing(uses(plan), fakedroid.WithMode("spec")), func(c *adapter.Config) { c.ClientShows = shows })
			require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientInfo":{"name":"zed"}}`).Error)
			e.beginSession()
			var asked permission
			e.ask = func(p permission) string { asked = p; return "" }
			require.Equal(t, "end_turn", e.run("plan"))
			require.Len(t, asked.Options, want, shows)
			require.Equal(t, shows == protocol.ShowsTitle, strings.Contains(e.messages(), "1. now"), shows)
		})
	}
}

// CodeCompanion repeats a prompt that its user stopped in front of the next one. It is removed if it is there as a whole, so that the model
// does not carry it out after all and a command is recognized; text of the user is never examined.
func TestStoppedPromptComesAgain(t *testing.T) {
	block := func(texts ...string) string {
		var blocks []string
		for _, text := range texts {
			blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%q}`, text))
		}
		return "[" + strings.Join(blocks, ",") + "]"
	}
	for name, tc := range map[string]struct {
		client string
		stop   bool
		next   string
		want   string // that droid gets
	}{
		"again":                   {"CodeCompanion.nvim", true, block("file x", "do it", "do that"), "do that"},
		"the same once more":      {"CodeCompanion.nvim", true, block("file x", "do it"), "file xdo it"},
		"not whole":               {"CodeCompanion.nvim", true, block("do it", "do that"), "do itdo that"},
		"in the user's own words": {"CodeCompanion.nvim", true, block("file xdo it do that"), "file xdo it do that"},
		"nothing was stopped":     {"CodeCompanion.nvim", false, block("file x", "do it", "do that"), "file xdo itdo that"},
		"another client":          {"zed", true, block("file x", "do it", "do that"), "file xdo itdo that"},
		"a command behind it":     {"CodeCompanion.nvim", true, block("file x", "do it", "/help"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				e := beginNamed(t, tc.client, "{}", playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					got = append(got, p.Text)
					if len(got) == 1 && tc.stop {
						return d.Say("", strings.Repeat("word ", 1000))
					}
					return d.Say("", "ok")
				}), fakedroid.WithPace(20*time.Millisecond)))
				id := e.request("session/prompt", e.inSession(`,"prompt":`+block("file x", "do it")))
				if tc.stop {
					time.Sleep(300 * time.Millisecond)
					e.cancel()
				}
				e.await(id)
				if name == "again" { // behind one that is refused, too
					refused := strings.Replace(tc.next, `"text"`, `"song"`, 1)
					require.NotNil(t, e.await(e.request("session/prompt", e.inSession(`,"prompt":`+block("file x", "do it")[:len(block("file x", "do it"))-1]+","+refused[1:]))).Error)
				}
				require.Equal(t, "end_turn", ended(e.await(e.request("session/prompt", e.inSession(`,"prompt":`+tc.next)))))
				if tc.want == "" {
					require.Len(t, got, 1)
					require.Contains(t, e.messages(), "/compact")
					return
				}
				require.Len(t, got, 2)
				require.Equal(t, tc.want, strings.ReplaceAll(got[1], "\n", ""))
				require.Equal(t, "end_turn", ended(e.await(e.request("session/prompt", e.inSession(`,"prompt":`+block("file x", "do it", "later"))))))
				require.Contains(t, strings.ReplaceAll(got[2], "\n", ""), "do it", "only the next prompt")
			})
		})
	}
}
