package acptest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
)

// Permission is a permission request. C is the part of the call that a test checks.
type Permission[C any] struct {
	Request   json.RawMessage `json:"-"` // its ID
	SessionID string          `json:"sessionId"`
	ToolCall  C               `json:"toolCall"`
	Options   []struct {
		OptionID string `json:"optionId"`
		Name     string `json:"name"`
		Kind     string `json:"kind"`
	} `json:"options"`
}

// Option returns the first option of a kind, or "".
func (p Permission[C]) Option(kind string) string {
	for _, o := range p.Options {
		if o.Kind == kind {
			return o.OptionID
		}
	}
	return ""
}

// AskedFor decodes a permission request.
func AskedFor[C any](t testing.TB, m Message) Permission[C] {
	p := Permission[C]{Request: m.ID}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Errorf("permission request %s: %v", m.Params, err)
	}
	return p
}

// Selected returns the response that selects an option, or cancels if option is "".
func Selected(request json.RawMessage, option string) string {
	outcome := `{"outcome":"cancelled"}`
	if option != "" {
		outcome = fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, option)
	}
	return Response(request, `{"outcome":`+outcome+`}`)
}

// Response returns the response to a request, with a result.
func Response(request json.RawMessage, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request, result)
}

// TextFiles are the files of a client that holds them in buffers, such as a testeditor.Editor.
type TextFiles interface {
	ReadTextFile(ctx context.Context, path string) (string, error)
	WriteTextFile(ctx context.Context, path, text string) error
}

// ServeFile executes fs/read_text_file or fs/write_text_file, and returns the response, or the error.
func ServeFile(t testing.TB, files TextFiles, m Message) (response string, err error) {
	var p struct{ Path, Content string }
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Errorf("%s %s: %v", m.Method, m.Params, err)
	}
	result := map[string]string{}
	if m.Method == "fs/read_text_file" {
		result["content"], err = files.ReadTextFile(context.Background(), p.Path)
	} else {
		err = files.WriteTextFile(context.Background(), p.Path, p.Content)
	}
	if err != nil {
		message, _ := json.Marshal(err.Error()) // a string
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":%s}}`, m.ID, message), err
	}
	data, err := json.Marshal(result)
	return Response(m.ID, string(data)), err
}
