package fakelogin

import "fmt"

// Scripts are ready-made logins, by name.
func Scripts() map[string]Script {
	return map[string]Script{
		// Seen, but for the success.
		"pending":  func(c *Conversation) { c.Open(Address) },
		"refused":  func(c *Conversation) { c.Open(Address); c.Refuse() },
		"succeeds": func(c *Conversation) { c.Open(Address); c.Succeed() },
		// Invented.
		"dies":   func(c *Conversation) { c.Open(Address); c.Die(3) },
		"silent": func(*Conversation) {},
		"asks":   asks,
		"tells":  tells,
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

// asks asks for the address by URL elicitation and goes on when the user has agreed.
func asks(c *Conversation) {
	answer, _ := c.Ask("elicitation/create", fmt.Sprintf(`{"requestId":1,"mode":"url","elicitationId":"e1","url":%q,"message":"Log in with the code ABCD-EFGH."}`, Address))
	if string(answer) != `{"action":"accept"}` {
		c.Refuse()
		return
	}
	c.Tell("elicitation/complete", `{"elicitationId":"e1"}`)
	c.Succeed()
}

// tells tells code and address by messages that nobody knows.
func tells(c *Conversation) {
	c.Tell("_factory/device_code", fmt.Sprintf(`{"userCode":"ABCD-EFGH","verificationUri":%q}`, Address))
	if _, failure := c.Ask("_factory/confirm", `{"message":"Is this you?"}`); failure == nil {
		c.Refuse()
		return
	}
	c.Succeed()
}
