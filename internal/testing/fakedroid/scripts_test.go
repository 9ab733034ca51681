package fakedroid

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planAndWrite runs a command and proposes a plan in spec mode, and then, as in any mode, writes a file.
func planAndWrite() Script {
	return EachPrompt(func(d *Droid, _ Prompt) error {
		tools := []Tool{
			{Name: "Execute", Input: Fields{}, Confirmation: "exec", Impact: "medium", Progress: []string{"", "ok"}},
			{Name: "ExitSpecMode", Input: Fields{}, Confirmation: "exit_spec_mode"},
			{Name: "Create", Input: Fields{}, Confirmation: "create", Impact: "low"},
		}
		if d.Mode() != "spec" {
			tools = tools[2:]
		}
		for _, tool := range tools {
			if err := d.Use("I think. ", "I say. ", tool); err != nil {
				return err
			}
		}
		return d.Say("", "Done.")
	})
}

// demo plays one prompt with planAndWrite and answers every permission with the next
// of answers.
func demo(t *testing.T, c *client, answers ...string) {
	t.Helper()
	c.request("add_user_message", Fields{"text": "greet me"})
	for {
		switch l := c.next(); l.name() {
		case "request_permission":
			require.NotEmpty(t, answers, "one more permission than expected")
			c.answer(l, answers[0])
			answers = answers[1:]
		case "S:idle":
			require.Empty(t, answers, "fewer permissions than expected")
			return
		}
	}
}

func TestPlanAndWrite(t *testing.T) {
	tests := []struct {
		name    string
		mode    string
		answers []string
		after   string // mode afterwards
		results int
	}{
		{"spec, all allowed", "spec", []string{"proceed_once", "proceed_once", "proceed_once"}, "normal", 3},
		{"spec with autonomy", "spec", []string{"proceed_once", "proceed_auto_run_low"}, "auto-low", 3},
		{"plan refused", "spec", []string{"proceed_once", "cancel"}, "spec", 2},
		{"command refused", "spec", []string{"cancel"}, "spec", 1},
		{"unknown option refuses", "spec", []string{"yes please"}, "spec", 1},
		{"normal", "normal", []string{"proceed_once"}, "normal", 1},
		{"always", "normal", []string{"proceed_always"}, "auto-low", 1},
		{"nothing to ask", "auto-low", nil, "auto-low", 1},
	}
	for _, tt := range tests {
		for _, v := range []Version{Unversioned, V099, V0225} {
			t.Run(tt.name+" "+string(v), func(t *testing.T) {
				c := start(t, planAndWrite(), WithMode(tt.mode), WithVersion(v))
				c.init(nil)
				demo(t, c, tt.answers...)
				results := 0
				for _, s := range c.seen {
					if s == "tool_result" {
						results++
					}
				}
				require.Equal(t, tt.results, results)
				require.Equal(t, tt.after, mode(t, c, v))
				require.NoError(t, c.finish())
			})
		}
	}
}

// mode asks for the session's mode.
func mode(t *testing.T, c *client, v Version) string {
	t.Helper()
	var result struct {
		Settings map[string]any `json:"settings"`
	}
	require.NoError(t, json.Unmarshal(c.init(nil).Result, &result))
	if v == Unversioned {
		return result.Settings["autonomyLevel"].(string)
	}
	return result.Settings["autonomyMode"].(string)
}

func TestDeltasSumToSnapshots(t *testing.T) {
	c := start(t, planAndWrite(), WithMode("spec"))
	c.init(nil)
	c.request("add_user_message", Fields{"text": "greet me"})
	sums := map[string]string{}
	for {
		l := c.next()
		n := l.Params.Notification
		switch l.name() {
		case "assistant_text_delta":
			sums[n["messageId"].(string)] += n["textDelta"].(string)
		case "CM assistant":
			m := n["message"].(map[string]any)
			for _, b := range m["content"].([]any) {
				if block := b.(map[string]any); block["type"] == "text" {
					require.Equal(t, block["text"], sums[m["id"].(string)])
				}
			}
		case "request_permission":
			c.answer(l, "proceed_once")
		case "S:idle":
			require.GreaterOrEqual(t, len(sums), 4)
			require.NoError(t, c.finish())
			return
		}
	}
}

func TestNewSessionChangesTheID(t *testing.T) {
	c := start(t, planAndWrite(), WithMode("spec"))
	c.init(nil)
	c.request("add_user_message", Fields{"text": "greet me"})
	first := c.until("S:streaming_assistant_message").Params.SessionID
	c.answer(c.until("request_permission"), "proceed_once")
	c.answer(c.until("request_permission"), "proceed_new_session_low")
	idle := c.until("S:idle")
	require.NotEqual(t, first, idle.Params.SessionID)
	end := c.next()
	require.Equal(t, "spec_handoff", end.Params.Notification["reason"])
	require.Equal(t, first, end.Params.SessionID)
	require.NoError(t, c.finish())
}

func TestBatchOfTools(t *testing.T) {
	for v, requests := range map[Version][]int{V099: {3}, V0225: {2, 1}} {
		c := start(t, EachPrompt(func(d *Droid, _ Prompt) error {
			run := Tool{Name: "Execute", Input: Fields{}, Confirmation: "exec", Impact: "medium"}
			return d.Use("", "", run, run, Tool{Name: "Create", Input: Fields{}, Confirmation: "create", Impact: "low"})
		}), WithVersion(v))
		c.init(nil)
		c.request("add_user_message", Fields{"text": "go"})
		for _, n := range requests {
			l := c.until("request_permission")
			require.Len(t, l.Params.ToolUses, n)
			c.answer(l, "proceed_once")
		}
		c.until("S:idle")
		require.NoError(t, c.finish())
	}
}

func TestAskUser(t *testing.T) {
	tests := []struct {
		name    string
		version Version
		answer  Fields
		want    string // error of the building block, or the answer
	}{
		{"answered", V0225, Fields{"answers": []Fields{{"index": 1, "answer": "Red"}}}, "Red"},
		{"cancelled", V0225, Fields{"cancelled": true}, ErrRefused.Error()},
		{"cancelled on 0.99", V099, Fields{"cancelled": true}, ""},
		{"strings", V0225, Fields{"answers": []string{"Red"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			c := start(t, EachPrompt(func(d *Droid, _ Prompt) error {
				answers, err := d.AskUser("", Question{Topic: "Colour", Question: "Which?"})
				if err != nil {
					got = err.Error()
					return err
				}
				got = answers[0]
				return nil
			}), WithVersion(tt.version))
			c.init(nil)
			c.request("add_user_message", Fields{"text": "go"})
			ask := c.until("ask_user")
			c.send(Fields{"type": "response", "id": *ask.ID, "result": tt.answer})
			c.until("tool_result")
			c.until("S:idle")
			require.NoError(t, c.finish())
			require.Equal(t, tt.want, got)
		})
	}
}

func TestNonsenseDies(t *testing.T) {
	var stderr bytes.Buffer
	c := start(t, Nonsense(), WithStderr(&stderr))
	c.init(nil)
	c.request("add_user_message", Fields{"text": "die now"})
	_, err := c.out.WriteTo(&bytes.Buffer{})
	require.NoError(t, err)
	err = <-c.done
	var death *Death
	require.True(t, errors.As(err, &death))
	require.Equal(t, 3, ExitCode(err))
	require.Contains(t, stderr.String(), "fell over")
	_, err = c.in.Write([]byte("x\n"))
	require.Error(t, err, "the input is closed")
}

func TestNonsenseKeepsItsText(t *testing.T) {
	for _, prompt := range []string{"babble", "huge line", "idle"} {
		t.Run(prompt, func(t *testing.T) {
			c := start(t, Nonsense())
			c.init(nil)
			c.request("add_user_message", Fields{"text": prompt})
			text, idle, longest := nonsense(t, c.out, prompt == "idle")
			require.Equal(t, NonsenseText, text)
			require.True(t, idle)
			if prompt == "huge line" {
				require.Greater(t, longest, hugeLine)
			}
			require.NoError(t, c.finish())
		})
	}
}

// nonsense reads to the turn's end and returns the sum of the deltas.
func nonsense(t *testing.T, out *bufio.Reader, twoIdles bool) (text string, idle bool, longest int) {
	t.Helper()
	for {
		raw, err := out.ReadString('\n')
		require.NoError(t, err)
		longest = max(longest, len(raw))
		if strings.Contains(raw, `"assistant_text_delta"`) {
			var l line
			require.NoError(t, json.Unmarshal([]byte(raw), &l))
			text += l.Params.Notification["textDelta"].(string)
		}
		if strings.Contains(raw, `"idle"`) {
			if !twoIdles {
				return text, true, longest
			}
			twoIdles = false
		}
	}
}

func TestNonsenseSilence(t *testing.T) {
	c := start(t, Nonsense())
	c.init(nil)
	c.request("add_user_message", Fields{"text": "silence"})
	c.until("CM user")
	c.until("CM user")
	c.request("interrupt_session", Fields{})
	c.until("S:idle")
	require.NoError(t, c.finish())
}
