//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

var forms = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}

// inSpec switches a session to spec mode.
func (s session) inSpec() session {
	s.t.Helper()
	s.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "spec"}, nil)
	return s
}

// savedPlans returns the plans that droid has saved.
func (h home) savedPlans(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.dir, ".factory", "specs", "*.md"))
	require.NoError(t, err)
	text := ""
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		text += string(data)
	}
	return text
}

// modelGot reports whether the model got a text.
func modelGot(model *modelserver.Server, text string) bool {
	return slices.ContainsFunc(model.Requests(), func(r modelserver.Request) bool { return strings.Contains(string(r.Body), text) })
}

// The user edits the plan in a form: droid saves the edited plan, and the thread shows it.
func TestPlanIsEdited(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		const edited = "# My own plan\n\n1. Touch a file named planned, later.\n"
		spec(model)
		c := startAgent(t, h)
		s := c.openNamed(h, map[string]any{"name": "agent-shell"}, forms).inSpec()
		if !h.has(t, stream.TakesEditedPlan) {
			s.prompt("plan it").end(turnLimit)
			require.Len(t, c.asked(), 1)
			require.NotContains(t, fmt.Sprint(c.asked()[0].Options), "Edit the plan", "0.99 would open a program of the desktop")
			return
		}
		edit := func(p permission) string {
			for _, o := range p.Options {
				if o.Name == "Yes, but edit the plan first" {
					return o.OptionID
				}
			}
			return p.Option("allow_once")
		}
		c.onPermission(edit)
		asked := 0
		c.onForm(func(params json.RawMessage) string {
			asked++
			var form struct {
				RequestedSchema struct {
					Properties struct{ Plan struct{ Default string } }
				}
			}
			if json.Unmarshal(params, &form) != nil || form.RequestedSchema.Properties.Plan.Default != strings.TrimSpace(plan) {
				t.Errorf("the form has not the plan: %s", params)
			}
			return fmt.Sprintf(`{"action":"accept","content":{"plan":%q}}`, edited)
		})
		turn := s.prompt("plan it")
		end := turn.end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, 1, asked)
		require.Equal(t, []string{"completed", "completed"}, end.tools())
		require.Equal(t, strings.TrimSpace(edited), strings.TrimSpace(h.savedPlans(t)))
		require.Equal(t, []string{"normal"}, c.modesAfter(turn.from), "as droid reports it")
		require.Len(t, c.asked(), 2, "the plan, and the command")
		require.FileExists(t, filepath.Join(h.work, "planned"))
		updates := end.ofTool("spec")
		shown := updates[len(updates)-1].items()
		require.Equal(t, strings.TrimSpace(edited), shown[0].Content.Text)
		require.Contains(t, itemText(shown), filepath.Join(h.dir, ".factory", "specs"))
		require.True(t, modelGot(model, "manually edited"), "the model knows that it has to read it")

		c.end(h)
		again := startAgent(t, h).initialize()
		from := again.seen()
		again.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		_, l := again.await("the plan in the history", from, turnLimit, func(l line) bool {
			u, ok := asUpdate(l)
			return ok && u.ToolCallID == "spec" && u.Status == "completed"
		})
		require.Contains(t, l.raw, "You edited this plan before you approved it")
		require.Contains(t, l.raw, "specs/", "and where it is: droid's history has the text no more")
	})
}

// A closed form leads back to the choice; cancelling the turn withdraws it.
func TestPlanFormIsLeft(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	h := newHome(t, newDroid, model.URL())
	spec(model)
	c := startAgent(t, h)
	s := c.openNamed(h, map[string]any{"name": "agent-shell"}, forms).inSpec()
	asked := 0
	c.onPermission(func(p permission) string {
		if asked++; asked == 1 {
			return "edit_plan"
		}
		return rejectOnce(p)
	})
	c.onForm(func(json.RawMessage) string { return `{"action":"cancel"}` })
	end := s.prompt("plan it").done()
	require.Equal(t, 2, asked)
	require.Equal(t, []string{"failed"}, end.tools())

	c.onPermission(func(permission) string { return "edit_plan" })
	c.onForm(func(json.RawMessage) string { return "" }) // left open
	running := s.prompt("plan again")
	_, open := c.await("the form", running.from, turnLimit, func(l line) bool { return l.Method == "elicitation/create" })
	c.notify("session/cancel", map[string]any{"sessionId": s.id})
	require.Equal(t, "cancelled", running.end(turnLimit).Stop)
	c.await("the withdrawal", running.from, turnLimit, func(l line) bool {
		return l.Method == "$/cancel_request" && strings.Contains(string(l.Params), string(open.ID))
	})
	require.Empty(t, h.savedPlans(t))
	require.NoFileExists(t, filepath.Join(h.work, "planned"))
	require.Empty(t, c.modesAfter(running.from), "the session stays in spec mode")
}

// One of several plans: droid 0.99 names them, and the model gets the selection.
func TestOneOfSeveralPlans(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, word := range []string{"propose", "leave", "stop"} {
			model.On(word, modelserver.Step{Text: "Two plans. ", Tools: []modelserver.ToolCall{{
				ID: word, Name: "ExitSpecMode", Args: map[string]any{"title": "Plans", "plan": "Plan A: do a.\n\nPlan B: do b.", "optionNames": []string{"Plan A", "Plan B"}},
			}}}, modelserver.Step{Text: "Carried out."})
		}
		c := startAgent(t, h)
		s := openSpec(t, c, h)
		if h.version == newDroid { // it knows no names
			c.onPermission(rejectOnce)
			s.prompt("propose").end(turnLimit)
			require.Len(t, c.asked(), 1)
			require.NotContains(t, optionNames(c.asked()[0]), "Plan A")
			return
		}
		answers := func(options ...string) {
			c.onPermission(func(permission) string {
				if len(options) == 0 {
					return ""
				}
				option := options[0]
				options = options[1:]
				return option
			})
		}
		for word, pick := range map[string][]string{"leave": {"cancel"}, "stop": {"plan_0", "cancel"}} {
			before := len(c.asked())
			answers(pick...)
			turn := s.prompt(word)
			end := turn.done()
			require.Equal(t, []string{"failed"}, end.tools(), word)
			require.Len(t, c.asked(), before+len(pick))
			require.False(t, modelGot(model, "I choose"))
			require.NotContains(t, end.text(), "Carried out")
			require.Empty(t, c.modesAfter(turn.from), "the session stays in spec mode")
		}

		before := len(c.asked())
		answers("plan_1", "proceed_auto_run_low")
		turn := s.prompt("propose")
		end := turn.done()
		asked := c.asked()[before:]
		require.Len(t, asked, 2)
		require.Equal(t, []string{"Plan A", "Plan B", "No, keep planning"}, optionNames(asked[0]))
		require.Contains(t, asked[0].text(t), "Plan B: do b.")
		require.Contains(t, optionNames(asked[1]), "Yes, and ask each time: Auto (Off)")
		require.Equal(t, []string{"auto-low"}, c.modesAfter(turn.from))
		require.Equal(t, []string{"completed"}, end.tools())
		require.True(t, modelGot(model, "I choose this option of the plan: Plan B"), "the model gets the pick")
		require.Contains(t, end.text(), "Carried out.")
	})
}

// byKind is a client that acts on the kinds of options: for several of one kind its key selects the last, and it shows no content of a
// pending call.
var byKind = map[string]any{"name": "CodeCompanion.nvim", "version": "1.0.0"}

func (p permission) lastOf(kind string) string {
	last := ""
	for _, o := range p.Options {
		if o.Kind == kind {
			last = o.OptionID
		}
	}
	return last
}

// oneKeyClients are clients whose key may stand for any option of a kind: a known one, one without a name, and two with unknown names.
var oneKeyClients = map[string]map[string]any{"known": byKind, "nameless": nil, "unknown": {"name": "an editor of the future", "version": "1"},
	"JetBrains": {"name": "JetBrains.IntelliJ IDEA", "version": "2026.3", "type": "ide"}}

// The key "always accept" of such a client grants the least that droid offers, and the content to decide on was shown. Only a client that
// may show names gets questions as choices.
func TestOneKeyGrantsTheLeast(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		spec(model)
		questionModel(model, "ask")
		for name, info := range oneKeyClients {
			if testing.Short() && (name == "nameless" || name == "JetBrains") {
				continue // they are treated like the others: TestOneKeyGrantsTheLeast of internal/adapter/session
			}
			atItsWord := name == "unknown" || name == "JetBrains"
			c := startAgent(t, h)
			c.onPermission(func(p permission) string { return p.lastOf("allow_always") })
			s := c.openNamed(h, info, map[string]any{}).inSpec()
			turn := s.prompt("plan it")
			end := turn.end(turnLimit)
			require.Nil(t, end.Err)
			require.Equal(t, []string{"completed", "completed"}, end.tools())
			require.Equal(t, []string{"auto-low", "auto-medium"}, c.modesAfter(turn.from), "%s: the plan, then a command of medium risk", name)
			require.Len(t, c.asked(), 2)
			for _, p := range c.asked() {
				require.LessOrEqual(t, len(p.Options), 3)
			}
			if atItsWord {
				require.NotContains(t, end.text(), strings.TrimSpace(plan), "it is in the request")
				require.Contains(t, c.asked()[0].text(t), strings.TrimSpace(plan))
			} else {
				require.Equal(t, 1, strings.Count(end.text(), strings.TrimSpace(plan)), "the plan is a message too")
				require.Contains(t, end.text(), "Risk: medium", "and so is what no title says")
				c.titledBefore(turn.from)
			}

			c.onPermission(func(p permission) string { return p.lastOf("reject_once") })
			end = s.prompt("ask").done()
			if atItsWord {
				require.Len(t, c.asked(), 5)
				require.Contains(t, toldModel(model, "ask"), "[answer] (The user declined")
			} else {
				require.Len(t, c.asked(), 2)
				for _, word := range []string{"Which color", "Blue", "next prompt"} {
					require.Contains(t, end.text(), word)
				}
				require.Contains(t, toldModel(model, "ask"), "[answer] (The user could not be asked")
			}
			for _, word := range []string{"[answer] Red", "[answer] Blue"} {
				require.NotContains(t, toldModel(model, "ask"), word)
			}
			c.end(h)
		}
	})
}

// titledBefore checks that each call has the title of its permission request before that is sent. (On a busy machine droid may take longer
// to complete a call's input than clients wait for its first title.)
func (c *client) titledBefore(from int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	titles := map[string]string{}
	for _, l := range c.lines[from:] {
		if u, ok := asUpdate(l); ok && u.Title != "" {
			titles[u.ToolCallID] = u.Title
		}
		if l.Method == "session/request_permission" {
			var p struct{ ToolCall update }
			require.NoError(c.t, json.Unmarshal(l.Params, &p))
			require.Equal(c.t, p.ToolCall.Title, titles[p.ToolCall.ToolCallID])
		}
	}
}

// "always" raises the mode as the request says, and what it allows needs no further question.
func TestAlwaysRaisesTheMode(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		create := func(id, name string) modelserver.ToolCall {
			return modelserver.ToolCall{ID: id, Name: "Create", Args: map[string]any{"file_path": filepath.Join(h.work, name), "content": "x"}}
		}
		model.On("write", modelserver.Step{Text: "One. ", Tools: []modelserver.ToolCall{create("a", "one")}},
			modelserver.Step{Text: "Two. ", Tools: []modelserver.ToolCall{create("b", "two")}}, modelserver.Step{Text: "Done."})
		model.On("run", modelserver.Step{Text: "Run. ", Tools: []modelserver.ToolCall{execute("c", "touch three")}},
			modelserver.Step{Text: "Again. ", Tools: []modelserver.ToolCall{execute("d", "touch four")}}, modelserver.Step{Text: "Done."})
		c := startAgent(t, h)
		c.onPermission(func(p permission) string { return p.Option("allow_always") })
		s := c.open(h)
		for i, tc := range []struct{ word, mode, name string }{{"write", "auto-low", "Auto (Low)"}, {"run", "auto-medium", "Auto (Medium)"}} {
			turn := s.prompt(tc.word)
			end := turn.end(turnLimit)
			require.Equal(t, []string{"completed", "completed"}, end.tools())
			require.Len(t, c.asked(), i+1, "once for each")
			require.True(t, strings.HasSuffix(optionNames(c.asked()[i])[1], ": "+tc.name), "the button says it")
			require.Equal(t, []string{tc.mode}, c.modesAfter(turn.from))
		}
	})
}

// The effect of "always" for a tool of an MCP server is as the request says.
func TestAlwaysForMCPTool(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	h := newHome(t, newDroid, model.URL())
	model.On("use", modelserver.Step{Text: "I call. ", Tools: []modelserver.ToolCall{{ID: "a", Name: "tiny___echo", Args: map[string]any{"text": "one"}}}},
		modelserver.Step{Text: "Again. ", Tools: []modelserver.ToolCall{{ID: "b", Name: "tiny___echo", Args: map[string]any{"text": "two"}}}}, modelserver.Step{Text: "Called."})
	c := startAgent(t, h)
	c.onPermission(func(p permission) string { return p.lastOf("allow_always") })
	s := c.openNamed(h, byKind, map[string]any{}, stdioServer(t, "tiny", "said: "))
	turn := s.prompt("use")
	end := turn.end(turnLimit)
	require.Nil(t, end.Err)
	require.Equal(t, []string{"completed", "completed"}, end.tools())
	require.Len(t, c.asked(), 1)
	require.Contains(t, c.asked()[0].text(t), "tiny: echo")
	require.Contains(t, end.text(), "mcp.json, for all sessions", "this client shows no more than a title")
	require.Empty(t, c.modesAfter(turn.from))
	data, err := os.ReadFile(filepath.Join(h.dir, ".factory", "mcp.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), "persistentPermissions")
}

// Two files are created at once: each diff is under its own call, and a request for both (0.99; 0.225 asks one by one) has a separate
// entry. An edit of a kernel file shows nothing of the agent's environment.
func TestTwoEditsInOneRequest(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		s := startAgent(t, h).onPermission(allowOnce).open(h)
		paths := map[string]string{"one": filepath.Join(h.work, "one.txt"), "two": filepath.Join(h.work, "two.txt")}
		create := func(id, path string) modelserver.ToolCall {
			return modelserver.ToolCall{ID: id, Name: "Create", Args: map[string]any{"file_path": path, "content": id + "\n"}}
		}
		model.On("both", modelserver.Step{Text: "I make two. ", Tools: []modelserver.ToolCall{create("one", paths["one"]), create("two", paths["two"])}},
			modelserver.Step{Text: "Made."})
		end := s.prompt("both").end(turnLimit)
		require.Nil(t, end.Err)
		for _, p := range s.asked() {
			var asked struct {
				ToolCallID string
				Content    []item
			}
			require.NoError(t, json.Unmarshal(p.ToolCall, &asked))
			if path := paths[asked.ToolCallID]; path != "" {
				require.Contains(t, diffsOf(asked.Content), path)
				require.Len(t, diffsOf(asked.Content), 1)
				continue
			}
			require.Len(t, diffsOf(asked.Content), 2)
			entry := end.ofTool(asked.ToolCallID)
			require.Equal(t, "completed", entry[len(entry)-1].Status)
		}
		require.Len(t, s.asked(), map[bool]int{true: 1, false: 2}[h.version == oldDroid])
		for id, path := range paths {
			seen := 0
			for _, u := range end.ofTool(id) {
				for shown := range diffsOf(u.items()) {
					require.Equal(t, path, shown)
					seen++
				}
			}
			require.Positive(t, seen)
		}

		model.On("environ", modelserver.Step{Text: "I edit. ", Tools: []modelserver.ToolCall{create("environ", "/proc/self/environ")}}, modelserver.Step{Text: "Edited."})
		require.Nil(t, s.prompt("environ").end(turnLimit).Err)
		for _, l := range s.lines {
			require.False(t, strings.Contains(l.raw, "HOME="+h.dir), "the environment is shown")
		}
	})
}
