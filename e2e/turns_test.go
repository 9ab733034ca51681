//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// turnLimit is ample for a turn without failures on a busy machine.
const turnLimit = time.Minute

func TestTextStreams(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		const text = "One two three four five six seven eight nine ten eleven twelve."
		model.On("count", modelserver.Step{Thinking: "I can count. ", Text: text, Delay: 80 * time.Millisecond})
		s := startAgent(t, h).open(h)
		end := s.prompt("please count").done()
		require.Equal(t, text, end.text())
		chunks := end.chunks()
		require.GreaterOrEqual(t, len(chunks), 5, "the text comes in pieces")
		require.Greater(t, chunks[len(chunks)-1].at.Sub(chunks[0].at), 400*time.Millisecond, "the pieces come as the model speaks")

		thoughts := ""
		for _, u := range end.Updates {
			if u.SessionUpdate == "agent_thought_chunk" {
				thoughts += u.text()
			}
		}
		require.Equal(t, "I can count. ", thoughts)

		if h.version == newDroid { // the use of the context window is sent after a turn
			_, l := s.await("usage", 0, turnLimit, func(l line) bool { return strings.Contains(l.raw, `"usage_update"`) })
			require.Regexp(t, `"used":[1-9][0-9]*,"size":[1-9]`, l.raw)
		}
	})
}

// What a session does with each answer to a question. A turn in which the user refused something ends normally (quirk 4).
func TestPermissions(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		c := startAgent(t, h)
		s := c.open(h)
		asks := func(permit func(permission) string) (asked func() []permission) {
			before := len(c.onPermission(permit).asked())
			return func() []permission { return c.asked()[before:] }
		}
		t.Run("refused", func(t *testing.T) {
			model.On("touch refused", modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("r", "touch refused")}})
			asked := asks(rejectOnce)
			end := s.prompt("touch refused").done()
			require.Len(t, asked(), 1)
			require.Contains(t, string(asked()[0].ToolCall), "touch refused")
			require.Equal(t, []string{"failed"}, end.tools())
			require.NoFileExists(t, filepath.Join(h.work, "refused"))
		})
		for name, answer := range map[string]func(permission) string{ // anything but a clear yes is a no: droid does not run the tool
			"unknown":   func(permission) string { return "no-such-option" },
			"failing":   failure,
			"cancelled": func(permission) string { return "" },
		} {
			t.Run(name, func(t *testing.T) {
				model.On(name, modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute(name, "touch "+name)}})
				asked := asks(answer)
				end := s.prompt(name).end(turnLimit)
				t.Logf("%s %v", end.Stop, end.Err)
				require.Len(t, asked(), 1)
				require.Equal(t, []string{"failed"}, end.tools())
				require.NoFileExists(t, filepath.Join(h.work, name))
			})
		}
		t.Run("allowed", func(t *testing.T) {
			model.On("touch allowed", modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("a", "touch allowed")}},
				modelserver.Step{Text: "It is there."})
			asks(allowOnce)
			end := s.prompt("touch allowed").done()
			require.Equal(t, "I touch it. \n\nIt is there.", end.text())
			require.Equal(t, []string{"completed"}, end.tools())
			require.FileExists(t, filepath.Join(h.work, "allowed"))
		})
		t.Run("in a mode that was set right behind the prompt", func(t *testing.T) { // turns.Stricter relies on it
			for i := range 6 {
				name := fmt.Sprint("late", i)
				model.On("touch "+name, modelserver.Step{Text: "I touch it. ", Delay: 50 * time.Millisecond, Tools: []modelserver.ToolCall{execute(name, "touch "+name)}})
				c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-high"}, nil)
				asked := asks(rejectOnce)
				p := s.prompt("touch " + name)
				time.Sleep(time.Duration(i) * 10 * time.Millisecond) // on its way, accepted, begun
				c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "normal"}, nil)
				p.done()
				require.Len(t, asked(), 1)
			}
		})
		t.Run("for longer, and a mode right behind that", func(t *testing.T) {
			for i := range 6 {
				name := fmt.Sprint("longer", i)
				model.On("touch "+name, modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute(name, "touch "+name)}},
					modelserver.Step{Text: "And once more. ", Delay: 150 * time.Millisecond, Tools: []modelserver.ToolCall{execute(name+"b", "touch "+name+"b")}})
				longer := ""
				asks(func(p permission) string {
					if longer != "" {
						return rejectOnce(p)
					}
					longer = p.lastOf("allow_always")
					return noAnswer(p)
				})
				turn := s.prompt("touch " + name)
				_, l := turn.await("a question", turn.from, turnLimit, isPermission)
				c.answer(l.ID, longer)
				time.Sleep(time.Duration(i) * 2 * time.Millisecond)
				c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "normal"}, nil)
				turn.done()
				require.NoFileExists(t, filepath.Join(h.work, name+"b"))
			}
		})
		t.Run("of a batch", func(t *testing.T) {
			model.On("both", modelserver.Step{Text: "Two files. ", Tools: []modelserver.ToolCall{execute("b1", "touch one"), execute("b2", "touch two")}},
				modelserver.Step{Text: "Both are there."})
			asked := asks(allowOnce)
			end := s.prompt("both of them").done()
			require.Len(t, asked(), 1, "droid asks once for both")
			require.Contains(t, string(asked()[0].ToolCall), "touch one")
			require.Contains(t, string(asked()[0].ToolCall), "touch two")
			require.GreaterOrEqual(t, len(end.tools()), 2)
			for _, status := range end.tools() {
				require.Equal(t, "completed", status)
			}
			require.FileExists(t, filepath.Join(h.work, "one"))
			require.FileExists(t, filepath.Join(h.work, "two"))
		})
	})
}

const plan = "# The plan\n\n1. Touch a file named planned.\n"

func spec(model *modelserver.Server) {
	model.On("plan", modelserver.Step{Text: "Here is the plan. ", Tools: []modelserver.ToolCall{{
		ID: "spec", Name: "ExitSpecMode", Args: map[string]any{"title": "My plan", "plan": plan},
	}}},
		modelserver.Step{Text: "I carry it out. ", Tools: []modelserver.ToolCall{execute("touch", "touch planned")}},
		modelserver.Step{Text: "It is done."})
}

// openSpec opens a session in spec mode.
func openSpec(t *testing.T, c *client, h home) session {
	t.Helper()
	c.initialize()
	var result newSession
	c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &result)
	require.Equal(t, "normal", result.Modes.CurrentModeID)
	require.Len(t, result.Modes.AvailableModes, 5)
	c.mustCall("session/set_mode", map[string]any{"sessionId": result.SessionID, "modeId": "spec"}, nil)
	return session{c, result.SessionID}
}

// modesAfter returns the modes that the agent reported from line number from on.
func (c *client) modesAfter(from int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	modes := []string{}
	for _, l := range c.lines[from:] {
		if u, ok := asUpdate(l); ok && u.SessionUpdate == "current_mode_update" {
			modes = append(modes, u.CurrentModeID)
		}
	}
	return modes
}

// What a session does with each answer to a plan (quirk 23).
func TestSpec(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		spec(model)
		c := startAgent(t, h)
		s := openSpec(t, c, h)
		planned := filepath.Join(h.work, "planned")
		asks := func(permit func(permission) string) (turn turn, end ending, asked []permission) {
			before := len(c.onPermission(permit).asked())
			turn = s.inSpec().prompt("plan it")
			end = turn.done()
			return turn, end, c.asked()[before:]
		}
		t.Run("refused", func(t *testing.T) {
			turn, _, asked := asks(rejectOnce)
			require.Len(t, asked, 1)
			require.Empty(t, c.modesAfter(turn.from), "the session stays in spec mode")
			require.NoFileExists(t, planned)
		})
		t.Run("approved", func(t *testing.T) {
			turn, end, asked := asks(allowOnce)
			require.Len(t, asked, 2, "the plan, then the command: approval alone allows nothing")
			require.Contains(t, string(asked[0].ToolCall), "Touch a file named planned", "the plan can be read")
			names := optionNames(asked[0])
			require.Contains(t, names, "Yes, and ask each time: Auto (Off)")
			require.Contains(t, names, "No, keep planning")
			require.Equal(t, []string{"normal"}, c.modesAfter(turn.from))
			require.FileExists(t, planned)
			require.True(t, strings.HasSuffix(end.text(), "It is done."), "%q", end.text())
			require.NoError(t, os.Remove(planned))
		})
		// The editor gets the mode that droid reports.
		t.Run("approved with autonomy", func(t *testing.T) {
			turn, _, asked := asks(func(p permission) string {
				for _, o := range p.Options {
					if strings.HasSuffix(o.Name, ": Auto (Medium)") {
						return o.OptionID
					}
				}
				return ""
			})
			require.Len(t, asked, 1, "the command needs no permission any more")
			require.Equal(t, []string{"auto-medium"}, c.modesAfter(turn.from))
			require.FileExists(t, planned)
		})
	})
}

func optionNames(p permission) []string {
	var names []string
	for _, o := range p.Options {
		names = append(names, o.Name)
	}
	return names
}

// A subagent needs a Factory login (0.99) or droid's daemon (0.225), neither of which exists here: the test checks that it begins, fails,
// and that the editor is shown this under its call. Its further steps are only in the recordings (quirk 36).
func TestFailingSubagent(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("delegate", modelserver.Step{Text: "I delegate. ", Tools: []modelserver.ToolCall{{ID: "t", Name: "Task", Args: map[string]any{
			"subagent_type": "worker", "description": "Look around", "prompt": "Read a.txt", "complexity": "light", "run_in_background": false}}}},
			modelserver.Step{Text: "It failed."})
		s := startAgent(t, h).onPermission(allowOnce).open(h)
		end := s.prompt("delegate").end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "I delegate. \n\nIt failed.", end.text())
		updates := end.ofTool("t")
		require.NotEmpty(t, updates)
		titles, shown := "", ""
		for _, u := range updates {
			titles += u.Title + "\n"
			shown += itemText(u.items()) + "\n"
		}
		require.Contains(t, titles, "Task Look around")
		require.Equal(t, "failed", updates[len(updates)-1].Status)
		last := itemText(updates[len(updates)-1].items())
		if h.version == oldDroid {
			require.Contains(t, shown, "- Subagent session started\n", "its steps show while it runs")
			require.Contains(t, last, "❌ Error: Authentication failed", "and stay with the result")
		} else {
			require.Contains(t, last, "Could not reach the daemon")
			require.Contains(t, last, "its subagents need that login")
		}
	})
}
