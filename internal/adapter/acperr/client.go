package acperr

import (
	"maps"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// For returns an error in the form that suits this client. Within this program the message has the whole text in one line, and the details
// have it with its line breaks. A client gets one sentence in the message, as ACP wants it, and the rest in the details; one that shows
// only a part gets all of it in that part. If the provider rejected a request, the sentence is the cause. Zed shows the details of a
// prompt's error if it has no other data, and of other errors all data as JSON: it gets no kind. prompt says that the error ends a prompt.
func For(client protocol.ClientCapabilities, prompt bool, err *jsonrpc.Error) *jsonrpc.Error {
	data, _ := err.Data.(map[string]string)
	text := data["details"]
	title, repeated := strings.CutSuffix(err.Message, strings.Join(strings.Fields(text), " "))
	if text == "" || !repeated {
		return err
	}
	first, rest := render.CutSentence(text)
	if cause, _, rejected := strings.Cut(text, behindCause()); rejected {
		first, rest = strings.Join(strings.Fields(cause), " "), strings.TrimSpace(text[len(cause):])
	}
	switch {
	case client.ErrorDetailsOnly, client.PromptErrorDetailsOnly && prompt && err.Code == codeInternal:
		rest = text
	case client.ErrorMessageOnly, client.PromptErrorDetailsOnly:
		first, rest = text, ""
	}
	told := &jsonrpc.Error{Code: err.Code, Message: title + first}
	data = maps.Clone(data)
	if data["details"] = rest; rest == "" {
		delete(data, "details")
	}
	if client.PromptErrorDetailsOnly {
		delete(data, "kind")
	}
	if len(data) > 0 {
		told.Data = data
	}
	return told
}
