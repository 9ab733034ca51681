package login

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Remedy is what a user can do after a login by the method has ended with err, "" when
// there is nothing to do.
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
		return "Set FACTORY_API_KEY in the environment in which this agent is started, and start it again."
	}
	return "Check the network, then log in again and confirm the code in the browser. " + other
}

// maxWords is how much of a message Words tells, in bytes.
const maxWords = 4 << 10

// unsaid are fields that are for programs.
var unsaid = []string{"sessionId", "sessionUpdate", "id", "elicitationId", "requestId", "toolCallId", "messageId", "mode", "type"}

// plainly are fields whose names add nothing to what they say.
var plainly = []string{"text", "message", "title", "description", "label", "url"}

// Words are what the params of a message of droid's say to a person: their texts, a line
// each, in order, with the names of unknown fields. It is "" when they say nothing.
func Words(params json.RawMessage) string {
	var lines []string
	if all, err := hujson.Parse(params); err == nil {
		collect(all, "", &lines)
	}
	text := strings.Join(lines, "\n")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	return text
}

// collect adds the texts of a value, which has this name.
func collect(v hujson.Value, name string, lines *[]string) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			collect(m.Value, m.Name.Value.(hujson.Literal).String(), lines)
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			collect(e, name, lines)
		}
	case hujson.Literal:
		if v.Kind() != 'n' {
			say(name, v.String(), lines)
		}
	}
}

func say(name, text string, lines *[]string) {
	switch {
	case strings.TrimSpace(text) == "" || slices.Contains(unsaid, name):
	case name == "" || slices.Contains(plainly, name):
		*lines = append(*lines, text)
	default:
		*lines = append(*lines, name+": "+text)
	}
}
