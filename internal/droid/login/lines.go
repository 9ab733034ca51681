package login

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/visible"
)

// maxLine is how long a line of droid's may be, in bytes. Longer ones are dropped.
const maxLine = 256 << 10

// safe makes a value safe to show: who is told or asked something by droid need not see to
// that.
func safe(value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	return visible.JSONStrings(value)
}

// loginAnswer is droid's answer to a request of ours.
type loginAnswer struct {
	result json.RawMessage
	err    error
}

// errNoOutcome is why a response is no answer.
var errNoOutcome = errors.New("droid answered with neither a result nor an error")

// newAnswer makes an answer safe to show.
func newAnswer(result json.RawMessage, err error) loginAnswer {
	var refused *Error
	if !errors.As(err, &refused) {
		return loginAnswer{safe(result), err}
	}
	if _, ours := refused.Data.(map[string]string); ours { // the room's error for a response that is none; droid's data is raw
		return loginAnswer{nil, errNoOutcome}
	}
	raw, _ := refused.Data.(json.RawMessage)
	var data any
	_ = json.Unmarshal(safe(raw), &data) // there may be none
	return loginAnswer{nil, &Error{Code: refused.Code, Message: visible.Text(refused.Message), Data: data}}
}

// hasInvalidURL reports whether a request asks to open what is no address on the web.
func hasInvalidURL(c *jsonrpc.Call) bool {
	var asked struct{ Mode, URL string }
	return c.Method == "elicitation/create" && json.Unmarshal(c.Params, &asked) == nil && asked.Mode == "url" && !IsLink(asked.URL)
}

// maxLink is how long an address may be, in bytes.
const maxLink = 4 << 10

// IsLink reports whether a text is an address on the web that may be shown and opened.
func IsLink(text string) bool {
	if len(text) > maxLink || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
