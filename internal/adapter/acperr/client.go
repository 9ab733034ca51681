package acperr

import (
	"maps"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// For is an error as this client shows it. Within this program the message has all that is said, in
// one line, and the details have it as it stands. A client gets one sentence in the message, as ACP
// wants it, and in the details what follows; one that shows a part alone gets all in that part. Of a request that the
// provider rejected the sentence is the cause. Zed shows
// the details of a prompt's error where nothing stands beside them, and of others all data as JSON: it gets no
// kind. prompt is whether the error ends a prompt.
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
