package modelserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

type message = map[string]any

func user(text string) message { return message{"role": "user", "content": text} }

func body(stream bool, tools bool, messages ...message) io.Reader {
	call := map[string]any{"model": ModelName, "stream": stream, "messages": messages}
	if tools {
		call["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": "Execute"}}}
	}
	data, err := json.Marshal(call)
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(data)
}

// answer is what a client of the API makes of a stream.
type answer struct {
	Text, Thinking, Args, Name, Finish string
	Pieces                             int
	Done                               bool
}

func complete(t *testing.T, c *http.Client, url string, in io.Reader) (answer, error) {
	t.Helper()
	resp, err := c.Post(url+"/chat/completions", "application/json", in)
	require.NoError(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return answer{}, fmt.Errorf("%d %s", resp.StatusCode, text)
	}
	var a answer
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			a.Done = true
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta  delta  `json:"delta"`
				Finish string `json:"finish_reason"`
			} `json:"choices"`
		}
		require.NoError(t, json.Unmarshal([]byte(data), &chunk))
		for _, choice := range chunk.Choices {
			a.Pieces++
			a.Text += choice.Delta.Content
			a.Thinking += choice.Delta.Reasoning
			a.Finish += choice.Finish
			for _, tool := range choice.Delta.ToolCalls {
				a.Name += tool.Function.Name
				a.Args += tool.Function.Arguments
			}
		}
	}
	return a, lines.Err()
}

func TestStepsFollowTheConversation(t *testing.T) {
	s, c := start(t)
	s.On("run", Step{Thinking: "I think. ", Text: "I run it. ", Tools: []ToolCall{{Name: "Execute", Args: map[string]string{"command": "touch a"}}}},
		Step{Text: "All done."})
	s.On("other", Step{Text: "Other."})

	a, err := complete(t, c, s.URL(), body(true, true, user("please run")))
	require.NoError(t, err)
	require.Equal(t, "I think. ", a.Thinking)
	require.Equal(t, "I run it. ", a.Text)
	require.Equal(t, "Execute", a.Name)
	require.JSONEq(t, `{"command":"touch a"}`, a.Args)
	require.Equal(t, "tool_calls", a.Finish)
	require.True(t, a.Done)

	history := []message{user("please run"), {"role": "assistant", "content": "I run it."}, {"role": "tool", "content": "ok"}}
	a, err = complete(t, c, s.URL(), body(true, true, history...))
	require.NoError(t, err)
	require.Equal(t, "All done.", a.Text)
	require.Equal(t, "stop", a.Finish)

	history = append(history, message{"role": "assistant", "content": "All done."})
	a, err = complete(t, c, s.URL(), body(true, true, history...))
	require.NoError(t, err)
	require.Equal(t, "done", a.Text)

	a, err = complete(t, c, s.URL(), body(true, true, append(history, user("<system-reminder>run</system-reminder>the other"))...))
	require.NoError(t, err)
	require.Equal(t, "Other.", a.Text)

	requests := s.Requests()
	require.Len(t, requests, 4)
	require.Equal(t, []string{"run", "run", "run", "other"}, []string{requests[0].Prompt, requests[1].Prompt, requests[2].Prompt, requests[3].Prompt})
	require.Equal(t, 1, requests[1].Step)
}

func TestSideCallsUseNoStep(t *testing.T) {
	s, c := start(t)
	s.On("hello", Step{Status: 500})
	resp, err := c.Post(s.URL()+"/chat/completions", "application/json", body(false, false, user("hello")))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "scripted title")
	require.True(t, s.Requests()[0].Side)
}

func TestFailures(t *testing.T) {
	s, c := start(t)
	for _, status := range []int{400, 401, 429, 500} {
		prompt := fmt.Sprintf("fail %d", status)
		s.On(prompt, Step{Status: status})
		_, err := complete(t, c, s.URL(), body(true, true, user(prompt)))
		require.ErrorContains(t, err, fmt.Sprintf("%d {\"error\":", status))
	}
	s.On("own body", Step{Status: 400, Body: "<html>"})
	_, err := complete(t, c, s.URL(), body(true, true, user("own body")))
	require.EqualError(t, err, "400 <html>")

	s.On("break", Step{Text: "one two three", Break: true})
	a, err := complete(t, c, s.URL(), body(true, true, user("break")))
	require.Error(t, err)
	require.Equal(t, "one two three", a.Text)
	require.False(t, a.Done)
}

func TestFailsOnceThenAnswers(t *testing.T) {
	s, c := start(t)
	s.On("go", Step{Status: 500, Times: 2}, Step{Text: "First."}, Step{Text: "Second."})
	for range 2 {
		_, err := complete(t, c, s.URL(), body(true, true, user("go")))
		require.Error(t, err)
	}
	for range 2 { // a step without Times stays
		a, err := complete(t, c, s.URL(), body(true, true, user("go")))
		require.NoError(t, err)
		require.Equal(t, "First.", a.Text)
	}
	a, err := complete(t, c, s.URL(), body(true, true, user("go"), message{"role": "assistant", "content": "First."}))
	require.NoError(t, err)
	require.Equal(t, "Second.", a.Text)
}

func TestHangEndsWithTheServer(t *testing.T) {
	s, c := start(t)
	s.On("hang", Step{Text: "one ", Hang: true})
	done := make(chan error, 1)
	go func() {
		resp, err := c.Post(s.URL()+"/chat/completions", "application/json", body(true, true, user("hang")))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		done <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := s.Await(ctx, func(r Request) bool { return r.Prompt == "hang" })
	require.NoError(t, err)
	require.NoError(t, s.http.Close())
	require.Error(t, <-done)
}

func TestSettings(t *testing.T) {
	s, _ := start(t)
	home := t.TempDir()
	require.NoError(t, s.WriteSettings(home))
	data, err := os.ReadFile(filepath.Join(home, ".factory", "settings.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), s.URL())
	require.Contains(t, string(data), ModelID)
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
