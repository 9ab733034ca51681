package fakelogin

import (
	"fmt"
	"os"
)

// Scripts returns ready-made logins by name.
func Scripts() map[string]Script {
	return map[string]Script{
		// Observed, except for the success.
		"pending":  func(c *Conversation) { c.Open(Address) },
		"refused":  func(c *Conversation) { c.Open(Address); c.Refuse() },
		"succeeds": func(c *Conversation) { c.Open(Address); c.Succeed() },
		// Invented.
		"dies":    func(c *Conversation) { c.Open(Address); c.Die(3) },
		"silent":  func(*Conversation) {},
		"asks":    asks,
		"tells":   tells,
		"hostile": func(c *Conversation) { hostile(c); c.Succeed() },
		"hostile refusal": func(c *Conversation) {
			c.Line(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"No` + Signs + `","data":{"why":"none` + Signs + `"}}}`)
		},
		"hostile death": func(c *Conversation) {
			fmt.Fprintln(os.Stderr, "the end\x1b[2K\x1b]0;title\a\u202e\xff")
			c.Die(3)
		},
		"nonsense": func(c *Conversation) {
			c.Line("Logging in…")
			c.Line(`{"jsonrpc":"2.0"}`)
			c.Line(`[1,2]`)
			c.Line(`{"jsonrpc":"2.0","id":77,"result":{}}`)
			c.Line(`{"jsonrpc":"2.0","id":`)
			c.Succeed()
		},
	}
}

// asks requests the address by URL elicitation and continues when the user has agreed.
func asks(c *Conversation) {
	answer, _ := c.Ask("elicitation/create", fmt.Sprintf(`{"requestId":1,"mode":"url","elicitationId":"e1","url":%q,"message":"Log in with the code ABCD-EFGH."}`, Address))
	if string(answer) != `{"action":"accept"}` {
		c.Refuse()
		return
	}
	c.Tell("elicitation/complete", `{"elicitationId":"e1"}`)
	c.Succeed()
}

// tells sends code and address in unknown messages.
func tells(c *Conversation) {
	c.Tell("_factory/device_code", fmt.Sprintf(`{"userCode":"ABCD-EFGH","verificationUri":%q}`, Address))
	if _, failure := c.Ask("_factory/confirm", `{"message":"Is this you?"}`); failure == nil {
		c.Refuse()
		return
	}
	c.Succeed()
}

// Signs are characters that must not reach a screen: they control a terminal, change the direction of writing, or are invalid UTF-8 or half
// a character. They are written for a JSON string.
const Signs = `\u001b[2K\u001b]0;title\u0007\r` + "\u202e\u009b1A\xff" + `\ud83d`

// hostile sends such characters in each place of notifications and requests.
func hostile(c *Conversation) {
	c.Tell("_factory/device_code", `{"userCode":"ABCD`+Signs+`","and`+Signs+`":["more`+Signs+`"]}`)
	for _, params := range []string{
		fmt.Sprintf(`{"requestId":1,"mode":"url","elicitationId":"e1","url":%q,"message":"Log in`, Address) + Signs + `"}`,
		`{"requestId":1,"mode":"url","elicitationId":"e2","url":"javascript:alert(1)","message":"Go there."}`,
		`{"requestId":1,"mode":"form","message":"Who` + Signs + `","requestedSchema":{"type":"object","properties":{"a` + Signs + `":{"type":"string","title":"Name` + Signs + `"}}}}`,
	} {
		c.Ask("elicitation/create", params)
	}
	c.Tell("elicitation/complete", `{"elicitationId":"e1"}`)
}
