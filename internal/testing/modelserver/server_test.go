package modelserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) (*Server, *http.Client) {
	t.Helper()
	s, err := Start()
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		require.NoError(t, s.Close())
	})
	return s, client
}

func TestStepsFollowTheConversation(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		s.On("run", Step{Thinking: "I think. ", Text: "I run it. ", Tools: []ToolCall{{Name: "Execute", Args: map[string]string{"command": "touch a"}}}},
			Step{Text: "All done."})
		s.On("other", Step{Text: "Other."})

		a, err := c.ask(t, user("please run"))
		require.NoError(t, err)
		require.Equal(t, "I think. ", a.Thinking)
		require.Equal(t, "I run it. ", a.Text)
		require.Equal(t, "Execute", a.Name)
		require.JSONEq(t, `{"command":"touch a"}`, a.Args)
		require.Equal(t, c.finish[1], a.Finish)
		require.Greater(t, a.Pieces, 10)
		require.True(t, a.Done)

		history := []entry{user("please run"), assistant("I run it."), result("ok")}
		a, err = c.ask(t, history...)
		require.NoError(t, err)
		require.Equal(t, "All done.", a.Text)
		require.Equal(t, c.finish[0], a.Finish)

		history = append(history, assistant("All done."))
		a, err = c.ask(t, history...)
		require.NoError(t, err)
		require.Equal(t, "done", a.Text, "the script is over")

		a, err = c.ask(t, append(history, user("<system-reminder>run</system-reminder>the other"))...)
		require.NoError(t, err)
		require.Equal(t, "Other.", a.Text)

		requests := s.Requests()
		require.Len(t, requests, 4)
		require.Equal(t, []string{"run", "run", "run", "other"}, []string{requests[0].Prompt, requests[1].Prompt, requests[2].Prompt, requests[3].Prompt})
		require.Equal(t, 1, requests[1].Step)
	})
}

func TestSideCallsUseNoStep(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		s.On("hello", Step{Status: 500})
		resp := c.post(t, false, nil, user("hello"))
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), c.whole)
		require.True(t, s.Requests()[0].Side)
	})
}

// A step that is played again has another id.
func TestToolIDsAreUnique(t *testing.T) {
	step := Step{Tools: []ToolCall{{Name: "Execute"}, {Name: "Execute"}, {ID: "own", Name: "Execute"}}}
	seen := map[string]bool{}
	for number := range 2 {
		blocks, err := step.blocks(number)
		require.NoError(t, err)
		for _, b := range blocks[:2] {
			require.False(t, seen[b.id], b.id)
			seen[b.id] = true
		}
		require.Equal(t, "own", blocks[2].id)
	}
}

func TestAnswerWithoutStreaming(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		s.On("run", Step{Thinking: "I think.", Text: "I run it.", Tools: []ToolCall{{ID: "a", Name: "Execute", Args: map[string]string{"command": "touch a"}}}})
		resp := c.post(t, false, c.tools, user("run"))
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		for _, part := range []string{"I think.", "I run it.", `"Execute"`, "touch a", c.finish[1]} {
			require.Contains(t, string(text), part)
		}
	})
}

func TestFailures(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		for _, status := range []int{400, 401, 403, 404, 429, 500, 529} {
			prompt := fmt.Sprintf("fail %d", status)
			s.On(prompt, Step{Status: status})
			_, err := c.ask(t, user(prompt))
			require.ErrorContains(t, err, fmt.Sprintf("%d {\"error\":", status))
			require.ErrorContains(t, err, fmt.Sprintf("scripted %d", status))
		}
		_, err := c.ask(t, user("fail 401"))
		require.EqualError(t, err, "401 "+c.failure)
		s.On("own body", Step{Status: 400, Body: "<html>"})
		_, err = c.ask(t, user("own body"))
		require.EqualError(t, err, "400 <html>")

		s.On("break", Step{Text: "one two three", Break: true})
		a, err := c.ask(t, user("break"))
		require.Error(t, err)
		require.Equal(t, "one two three", a.Text)
		require.False(t, a.Done)
	})
}

func TestFailsOnceThenAnswers(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		s.On("go", Step{Status: 500, Times: 2}, Step{Text: "First."}, Step{Text: "Second."})
		for range 2 {
			_, err := c.ask(t, user("go"))
			require.Error(t, err)
		}
		for range 2 { // a step without Times stays
			a, err := c.ask(t, user("go"))
			require.NoError(t, err)
			require.Equal(t, "First.", a.Text)
		}
		a, err := c.ask(t, user("go"), assistant("First."), result("ok"))
		require.NoError(t, err)
		require.Equal(t, "Second.", a.Text)
	})
}

func TestHangEndsWithTheServer(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		s.On("hang", Step{Text: "one ", Hang: true})
		done := make(chan error, 1)
		resp := c.post(t, true, c.tools, user("hang"))
		go func() {
			_, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			done <- err
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := s.Await(ctx, func(r Request) bool { return r.Prompt == "hang" })
		require.NoError(t, err)
		require.NoError(t, s.http.Close())
		require.Error(t, <-done)
	})
}

func TestSettings(t *testing.T) {
	s, _ := start(t)
	read := func(home string) string {
		data, err := os.ReadFile(filepath.Join(home, ".factory", "settings.json"))
		require.NoError(t, err)
		return string(data)
	}
	home := t.TempDir()
	require.NoError(t, WriteSettings(home, s.URL()))
	require.Contains(t, read(home), s.URL())
	require.Contains(t, read(home), ModelID)
	require.Contains(t, read(home), string(ChatCompletions))

	require.NoError(t, WriteSettingsFor(home, Model{URL: s.URL(), Name: "gpt-5", Provider: Responses}))
	require.Contains(t, read(home), `"baseUrl": "`+s.URL()+`"`)
	require.Contains(t, read(home), `"model": "gpt-5"`)
	require.Contains(t, read(home), `"provider": "openai"`)
}

func TestRefusedURL(t *testing.T) {
	url, err := RefusedURL()
	require.NoError(t, err)
	_, err = http.Get(url)
	require.ErrorContains(t, err, "refused")
}

func TestAwaitGivesUp(t *testing.T) {
	s, _ := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Await(ctx, func(Request) bool { return true })
	require.ErrorIs(t, err, context.Canceled)
}
