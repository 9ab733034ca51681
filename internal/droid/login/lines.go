package login

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/visible"
)

// maxLine is the maximum length of a line of droid, in bytes. Longer lines are dropped.
const maxLine = 256 << 10

// safe makes a value safe to show, so that the Listener need not do it.
func safe(value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	return visible.JSONStrings(value)
}

// loginAnswer is droid's answer to a request.
type loginAnswer struct {
	result json.RawMessage
	err    error
}

// errNoOutcome is the error of a response with neither result nor error.
var errNoOutcome = errors.New("droid answered with neither a result nor an error")

// newAnswer makes an answer safe to show.
func newAnswer(result json.RawMessage, err error) loginAnswer {
	var refused *Error
	if !errors.As(err, &refused) {
		return loginAnswer{safe(result), err}
	}
	if _, ours := refused.Data.(map[string]string); ours { // jsonrpc's error for an invalid response; droid's own data is raw
		return loginAnswer{nil, errNoOutcome}
	}
	raw, _ := refused.Data.(json.RawMessage)
	var data any
	_ = json.Unmarshal(safe(raw), &data) // it may be absent
	return loginAnswer{nil, &Error{Code: refused.Code, Message: visible.Text(refused.Message), Data: data}}
}

// hasInvalidURL reports whether a request asks to open something that is not a web address.
func hasInvalidURL(c *jsonrpc.Call) bool {
	var asked struct{ Mode, URL string }
	return c.Method == "elicitation/create" && json.Unmarshal(c.Params, &asked) == nil && asked.Mode == "url" && !IsLink(asked.URL)
}

// maxLink is the maximum length of an address, in bytes.
const maxLink = 4 << 10

// IsLink reports whether a text is a web address that may be shown and opened.
func IsLink(text string) bool {
	if len(text) > maxLink || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
