package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Remedy says what a user can do after a login by the method has ended with err, "" if nothing.
func Remedy(method string, err error) string {
	const other = "Or run `droid` in a terminal and log in there with /login."
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, ErrDeclined):
		return "Log in again to get a new address. " + other
	case errors.As(err, new(*NoMethodError)):
		return "Update droid. " + other
	case method == APIKey:
		return "Set FACTORY_API_KEY where the editor starts this agent, and start the agent again."
	}
	return "Check the network, then log in again and confirm the code in the browser. " + other
}

// maxPlainText is the maximum size of the result of PlainText, in bytes.
const maxPlainText = 4 << 10

// machineFields are fields that are not meant for people.
var machineFields = []string{"sessionId", "sessionUpdate", "id", "elicitationId", "requestId", "toolCallId", "messageId", "mode", "type"}

// plainFields are fields whose names are omitted because their text is enough.
var plainFields = []string{"text", "message", "title", "description", "label", "url"}

// PlainText returns the params of a message of droid for people: their texts, one per line, in order, with the names of unknown fields. It
// is "" if they contain no text.
func PlainText(params json.RawMessage) string {
	var lines []string
	if json.Valid(params) {
		in := json.NewDecoder(bytes.NewReader(params))
		in.UseNumber()
		collect(in, "", &lines)
	}
	text := strings.Join(lines, "\n")
	if len(text) > maxPlainText {
		text = strings.ToValidUTF8(text[:maxPlainText], "") + "…"
	}
	return text
}

// collect adds the texts of the next value, which has this name.
func collect(in *json.Decoder, name string, lines *[]string) {
	token, _ := in.Token() // it was validated
	switch token {
	case nil:
	case json.Delim('{'):
		for in.More() {
			name, _ := in.Token()
			collect(in, fmt.Sprint(name), lines)
		}
		_, _ = in.Token()
	case json.Delim('['):
		for in.More() {
			collect(in, name, lines)
		}
		_, _ = in.Token()
	default:
		addLine(name, fmt.Sprint(token), lines)
	}
}

func addLine(name, text string, lines *[]string) {
	switch {
	case strings.TrimSpace(text) == "" || slices.Contains(machineFields, name):
	case name == "" || slices.Contains(plainFields, name):
		*lines = append(*lines, text)
	default:
		*lines = append(*lines, name+": "+text)
	}
}
