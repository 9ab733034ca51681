//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// counts is a schema for an answer.
var counts = map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"}}

// asksIn sends a prompt whose answer must match a schema.
func (s session) asksIn(text string, schema any) (request int) {
	return s.request("session/prompt", map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}},
		"_meta": map[string]any{"droid-acp": map[string]any{"outputFormat": map[string]any{"type": "json_schema", "schema": schema}}}})
}

// promptIn is asksIn, and returns the result.
func (s session) promptIn(text string, schema any) (output string, stop string, err *rpcError) {
	s.t.Helper()
	_, answer := s.response(s.asksIn(text, schema), turnLimit)
	result, err := answer.Result, answer.Error
	var r struct {
		StopReason string
		Meta       struct {
			Own struct{ StructuredOutput json.RawMessage } `json:"droid-acp"`
		} `json:"_meta"`
	}
	if err == nil {
		require.NoError(s.t, json.Unmarshal(result, &r))
	}
	return string(r.Meta.Own.StructuredOutput), r.StopReason, err
}

// An answer in the requested form, one that droid requests again, one that never comes, and an invalid schema; the session continues to
// work. An old droid is refused with what it lacks.
func TestStructuredOutput(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("four", modelserver.Step{Text: "It takes a command. ", Tools: []modelserver.ToolCall{execute("c", "true")}}, modelserver.Step{Text: `{"n": 4}`})
		model.On("second", modelserver.Step{Text: "It is five.", Times: 1}, modelserver.Step{Text: `{"n": 5}`}, modelserver.Step{Text: `{"n": 5}`}) // 0.215 leaves the first answer in the conversation
		model.On("never", modelserver.Step{Text: "It is six."}, modelserver.Step{Text: "It is six."}, modelserver.Step{Text: "It is six."})
		model.On("plain", modelserver.Step{Text: "Plain words."})
		s := startAgent(t, h).onPermission(allowOnce).open(h)
		if h.version == oldDroid {
			_, _, err := s.promptIn("four", counts)
			require.NotNil(t, err)
			require.Contains(t, err.Message+string(err.Data), "cannot have the model answer in the form of a JSON schema; droid 0.215 and newer can")
			require.Equal(t, "Plain words.", s.prompt("plain").end(turnLimit).text())
			return
		}
		for _, tt := range []struct{ word, output string }{{"four", `{"n":4}`}, {"second", `{"n":5}`}} {
			output, stop, err := s.promptIn(tt.word, counts)
			require.Nil(t, err)
			require.Equal(t, "end_turn", stop)
			require.JSONEq(t, tt.output, output)
		}
		require.NotContains(t, s.text(0), "broke off", "the answer is told once, though droid writes it anew (quirk 41)")
		_, _, err := s.promptIn("never", counts)
		require.NotNil(t, err)
		require.Contains(t, err.Message+string(err.Data), "did not answer in the form of the JSON schema")
		_, _, err = s.promptIn("four", map[string]any{"type": "nonsense"})
		require.NotNil(t, err)
		require.Contains(t, err.Message+string(err.Data), "is none that droid takes")
		require.Equal(t, "Plain words.", s.prompt("plain").end(turnLimit).text())
	})
}

// smoke fails if no answer matches the schema, and writes the one that does.
func TestSmokeSchema(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("four", modelserver.Step{Text: `{"n": 4}`})
		model.On("never", modelserver.Step{Text: "It is six."})
		model.On("refused", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("c", "touch x")}}, modelserver.Step{Text: `{"n": 4}`})
		schema, file := filepath.Join(h.dir, "schema.json"), filepath.Join(h.dir, "result.json")
		text, err := json.Marshal(counts)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(schema, text, 0o644))
		for word, tt := range map[string]struct {
			code int
			says string
		}{"four": {0, "the answer has the form of the schema: yes"}, "never": {1, "did not answer in the form"}, "refused": {6, "the answer has the form of the schema: no"}} {
			cmd := exec.Command(programs.Agent, "smoke", "--schema", schema, "--result", file, word)
			cmd.Env, cmd.Dir = append(h.env, "DROID_ACP_DROID="+h.droid), h.work
			out, _ := cmd.CombinedOutput() // the exit code is compared
			if h.version == oldDroid {
				require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", out)
				require.Contains(t, string(out), "droid 0.215 and newer can")
				continue
			}
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), "%s", out)
			require.Contains(t, string(out), tt.says)
			result, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, word == "four", strings.Contains(string(result), `"structuredOutput": {`), "%s", result)
		}
	})
}

// A prompt that is cancelled before droid has merged it into the running turn is answered at once and never reaches the model; the running
// one continues. One that droid has merged ends with its turn.
func TestSteeredPromptIsTakenBack(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("run", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("c", "touch ran; sleep 3")}}, modelserver.Step{Text: strings.Repeat("word ", 20), Delay: 100 * time.Millisecond})
		model.On("taken", modelserver.Step{Text: "I took that in. "})
		s := startAgent(t, h).onPermission(allowOnce).open(h)
		s.set("follow_up", "steer")
		one := s.prompt("run it")
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(h.work, "ran")); return err == nil }, turnLimit, 10*time.Millisecond)
		two := s.prompt("taken back")
		time.Sleep(300 * time.Millisecond) // droid has it
		began := time.Now()
		s.notify("$/cancel_request", map[string]any{"requestId": two.request})
		require.Equal(t, "cancelled", two.end(turnLimit).Stop)
		quick := time.Since(began) < time.Second
		require.Equal(t, h.version != oldDroid, quick, "%s", time.Since(began))
		require.Equal(t, "end_turn", one.end(turnLimit).Stop)
		require.Equal(t, "end_turn", s.prompt("run again").end(turnLimit).Stop)
		for _, r := range model.Requests() {
			for _, m := range r.Messages {
				require.False(t, h.version != oldDroid && strings.Contains(m.Text(), "taken back"), "the model got what was taken back")
			}
		}
	})
}
