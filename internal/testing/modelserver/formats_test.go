package modelserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// entry is one thing that was said in a conversation: by "user", "assistant" or
// a "tool".
type entry struct{ who, text string }

func user(text string) entry      { return entry{"user", text} }
func assistant(text string) entry { return entry{"assistant", text} }
func result(text string) entry    { return entry{"tool", text} }

// answer is the decoded answer of a client of an API.
type answer struct {
	Thinking, Text, Name, Args, Finish string
	Freeform                           bool // the tool got text, not JSON
	Pieces                             int  // of text, thinking and arguments
	Done                               bool // the answer has its proper end
}

// dialect is a client of one API. It is written from the API's documentation
// and what droid sends, not from the server.
type dialect struct {
	provider Provider
	path     string
	request  func(conversation []entry) object // without tools
	tools    []object
	read     func(t *testing.T, a *answer, name string, data []byte) // one event
	whole    string                                                  // of the title, in a call that does not stream
	failure  string                                                  // for 401
	finish   [2]string                                               // of an answer in words, and of one that calls a tool
}

var dialects = []dialect{
	{
		provider: ChatCompletions, path: "/v1/chat/completions", request: chatRequest, read: readChat,
		tools:   []object{{"type": "function", "function": object{"name": "Execute"}}, {"type": "function", "function": object{"name": "ApplyPatch"}}},
		whole:   `"message":{"role":"assistant","content":"A scripted title"}`,
		failure: `{"error":{"code":"scripted","message":"scripted 401","type":"scripted_error"}}`,
		finish:  [2]string{"stop", "tool_calls"},
	},
	{
		provider: Responses, path: "/v1/responses", request: responsesRequest, read: readResponses,
		tools:   []object{{"type": "function", "name": "Execute"}, {"type": "custom", "name": "ApplyPatch"}},
		whole:   `"content":[{"annotations":[],"text":"A scripted title","type":"output_text"}]`,
		failure: `{"error":{"code":"scripted","message":"scripted 401","param":null,"type":"scripted_error"}}`,
		finish:  [2]string{"completed", "completed"},
	},
	{
		provider: Messages, path: "/v1/messages", request: messagesRequest, read: readMessages,
		tools:   []object{{"name": "Execute", "input_schema": object{}}, {"name": "ApplyPatch", "input_schema": object{}}},
		whole:   `"content":[{"text":"A scripted title","type":"text"}]`,
		failure: `{"error":{"message":"scripted 401","type":"scripted_error"},"type":"error"}`,
		finish:  [2]string{"end_turn", "tool_use"},
	},
}

// eachFormat runs a test with a server and a client of each API.
func eachFormat(t *testing.T, test func(t *testing.T, s *Server, c client)) {
	for _, d := range dialects {
		t.Run(string(d.provider), func(t *testing.T) {
			s, c := start(t)
			test(t, s, client{d, c, strings.TrimSuffix(s.URL(), "/v1") + d.path})
		})
	}
}

type client struct {
	dialect
	http *http.Client
	url  string
}

// post sends a conversation.
func (c client) post(t *testing.T, stream bool, tools []object, conversation ...entry) *http.Response {
	t.Helper()
	call := c.request(conversation)
	call["model"], call["stream"] = ModelName, stream
	if len(tools) > 0 {
		call["tools"] = tools
	}
	data, err := json.Marshal(call)
	require.NoError(t, err)
	resp, err := c.http.Post(c.url, "application/json", strings.NewReader(string(data)))
	require.NoError(t, err)
	return resp
}

// ask has the model answer a conversation in a stream.
func (c client) ask(t *testing.T, conversation ...entry) (answer, error) {
	t.Helper()
	resp := c.post(t, true, c.tools, conversation...)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return answer{}, fmt.Errorf("%d %s", resp.StatusCode, text)
	}
	var a answer
	name := ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = n
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			c.read(t, &a, name, []byte(data))
			name = ""
		}
	}
	return a, lines.Err()
}

func decode[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(data, &v), "%s", data)
	return v
}

func chatRequest(conversation []entry) object {
	messages := []object{{"role": "system", "content": "You are droid."}}
	for _, e := range conversation {
		messages = append(messages, object{"role": e.who, "content": e.text})
	}
	return object{"messages": messages}
}

func readChat(t *testing.T, a *answer, _ string, data []byte) {
	if string(data) == "[DONE]" {
		a.Done = true
		return
	}
	chunk := decode[struct {
		Choices []struct {
			Delta struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
	}](t, data)
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

// responsesRequest has each answer of the model as the items that it consisted
// of.
func responsesRequest(conversation []entry) object {
	input := []object{}
	for _, e := range conversation {
		switch e.who {
		case "user":
			input = append(input, object{"role": "user", "content": []object{{"type": "input_text", "text": e.text}}})
		case "assistant":
			input = append(input, object{"type": "reasoning", "id": "rs_1", "summary": []object{{"type": "summary_text", "text": "hm"}}},
				object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": e.text}}},
				object{"type": "function_call", "call_id": "a", "name": "Execute", "arguments": "{}"})
		case "tool":
			input = append(input, object{"type": "function_call_output", "call_id": "a", "output": e.text})
		}
	}
	return object{"instructions": "You are droid.", "input": input}
}

func readResponses(t *testing.T, a *answer, name string, data []byte) {
	e := decode[struct {
		Type     string
		Number   int `json:"sequence_number"`
		Delta    string
		Item     struct{ Type, Name string }
		Response struct {
			Status string
			Output []struct{ Type string }
		}
	}](t, data)
	require.Equal(t, name, e.Type)
	require.False(t, a.Done, "an event after the end")
	switch e.Type {
	case "response.output_item.added":
		a.Name += e.Item.Name
		a.Freeform = a.Freeform || e.Item.Type == "custom_tool_call"
	case "response.reasoning_summary_text.delta":
		a.Thinking += e.Delta
	case "response.output_text.delta":
		a.Text += e.Delta
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		a.Args += e.Delta
	case "response.completed":
		a.Done, a.Finish = true, e.Response.Status
		require.NotEmpty(t, e.Response.Output)
	}
	if e.Delta != "" {
		a.Pieces++
	}
}

// messagesRequest has the results of one answer's tools in one message of the user's.
func messagesRequest(conversation []entry) object {
	var list []object
	for _, e := range conversation {
		block := object{"type": "text", "text": e.text}
		role := e.who
		if role == "tool" {
			role, block = "user", object{"type": "tool_result", "tool_use_id": "a", "content": e.text}
		}
		if n := len(list); n > 0 && e.who == "tool" && list[n-1]["role"] == "user" {
			list[n-1]["content"] = append(list[n-1]["content"].([]object), block)
			continue
		}
		list = append(list, object{"role": role, "content": []object{block}})
	}
	return object{"system": []object{{"type": "text", "text": "You are droid."}}, "messages": list, "max_tokens": 10}
}

func readMessages(t *testing.T, a *answer, name string, data []byte) {
	e := decode[struct {
		Type    string
		Content struct{ Name string } `json:"content_block"`
		Delta   struct {
			Text, Thinking string
			Args           string `json:"partial_json"`
			Stop           string `json:"stop_reason"`
		}
	}](t, data)
	require.Equal(t, name, e.Type)
	require.False(t, a.Done, "an event after the end")
	a.Name += e.Content.Name
	a.Text += e.Delta.Text
	a.Thinking += e.Delta.Thinking
	a.Args += e.Delta.Args
	a.Finish += e.Delta.Stop
	a.Done = name == "message_stop"
	if e.Delta.Text+e.Delta.Thinking+e.Delta.Args != "" {
		a.Pieces++
	}
}

// All that a conversation consists of is the same Message in every API.
func TestMessagesOfEveryFormat(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		_, err := c.ask(t, user("go"), assistant("I run it."), result("one"), result("two"), assistant("Done."), user("and now?"))
		require.NoError(t, err)
		r := s.Requests()[0]
		require.Equal(t, []string{"Execute", "ApplyPatch"}, r.Tools)
		var got []entry
		for _, m := range r.Messages {
			got = append(got, entry{m.Role, m.Text()})
		}
		require.Equal(t, []entry{{"system", "You are droid."}, user("go"), assistant("I run it."), result("one"), result("two"), assistant("Done."), user("and now?")}, got)
	})
}

// A prompt may be a bare string.
func TestResponsesInputAsAString(t *testing.T) {
	c, err := responses{}.decode([]byte(`{"input":"go"}`))
	require.NoError(t, err)
	require.Equal(t, "go", c.messages[0].Text())
	require.Equal(t, "user", c.messages[0].Role)
}

// A tool that takes text gets it bare where the API has such tools.
func TestFreeformTool(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		const patch = "*** Begin Patch\n*** Delete File: ä.txt\n*** End Patch"
		s.On("patch", Step{Tools: []ToolCall{{Name: "ApplyPatch", Args: Raw(patch)}}})
		a, err := c.ask(t, user("patch it"))
		require.NoError(t, err)
		require.Equal(t, "ApplyPatch", a.Name)
		require.Equal(t, patch, a.Args, "no letter is cut in two")
		require.Equal(t, c.provider == Responses, a.Freeform)
	})
}

func TestNonsenseIsABadRequest(t *testing.T) {
	eachFormat(t, func(t *testing.T, s *Server, c client) {
		for _, body := range []string{`{"messages":`, `{"messages":[7],"input":[7]}`} {
			resp, err := c.http.Post(c.url, "application/json", strings.NewReader(body))
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, body)
		}
		require.Empty(t, s.Requests())
	})
}

// No request makes a decoder panic, and what it takes for messages can be read.
func FuzzDecode(f *testing.F) {
	for _, d := range dialects {
		body, err := json.Marshal(d.request([]entry{user("go"), assistant("I run it."), result("ok")}))
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, format := range []format{chatCompletions{}, responses{}, messages{}} {
			c, err := format.decode(body)
			if err != nil {
				continue
			}
			for _, m := range c.messages {
				_ = m.Text()
			}
			require.False(t, c.freeform("no such tool"))
		}
	})
}
