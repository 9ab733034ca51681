// Package export writes a conversation as one self-contained HTML file without scripts or external resources. The main type is
// Conversation; Page builds one from a stored session. The /export command of adapter uses it.
package export

import (
	"strings"
	"time"
)

// Conversation is the content of a page. Its parts are added in order. All texts are plain text or, where noted, Markdown; nothing is
// interpreted as HTML.
type Conversation struct {
	Title string // of the page; "" for the beginning of the first prompt
	Facts []Fact // shown below the title

	parts []part
	open  string // kind and message of the last part; "" if it cannot be extended
}

// Fact is a property of the conversation, such as its directory. It is omitted if the value is empty.
type Fact struct{ Name, Value string }

// Said is a piece of a message. Unknown fields are empty and not shown.
type Said struct {
	Message string    // adjacent pieces with the same message ID form one part
	Text    string    // plain text of the user, Markdown of the agent
	At      time.Time // in the time zone to display
	Model   string    // that wrote it
}

// Tokens is the token usage of a turn.
type Tokens struct {
	Input, Output         int64 // Input excludes cached tokens
	CacheRead, CacheWrite int64
	Thinking              int64
}

// kind classifies a part.
type kind string

const (
	kindUser    kind = "user"
	kindImage   kind = "image" // of the user
	kindAgent   kind = "agent"
	kindThought kind = "thought"
	kindNote    kind = "note"
	kindFailure kind = "failure"
	kindCall    kind = "call"
	kindTokens  kind = "tokens"
)

// part is one part of the page.
type part struct {
	Kind   kind
	Text   string
	At     time.Time
	Model  string
	Image  string
	Call   *Call
	Tokens Tokens
}

// User adds text of the user. It is shown as typed, with fenced code as code.
func (c *Conversation) User(s Said) { c.say(kindUser, s) }

// Agent adds a piece of the agent's answer.
func (c *Conversation) Agent(s Said) { c.say(kindAgent, s) }

// Thought adds a piece of the model's thinking, as Markdown.
func (c *Conversation) Thought(s Said) { c.say(kindThought, s) }

func (c *Conversation) say(k kind, s Said) {
	if key := string(k) + s.Message; key == c.open {
		c.parts[len(c.parts)-1].Text += s.Text
		return
	}
	c.add(part{Kind: k, Text: s.Text, At: s.At, Model: s.Model})
	c.open = string(k) + s.Message
}

// Note adds a remark by neither the user nor the model.
func (c *Conversation) Note(text string) { c.add(part{Kind: kindNote, Text: text}) }

// Failure adds the reason why a turn failed.
func (c *Conversation) Failure(text string) { c.add(part{Kind: kindFailure, Text: text}) }

// Image adds a base64-encoded image of the user. Unsupported types are omitted.
func (c *Conversation) Image(mediaType, data string) {
	c.Break()
	if url := imageURL(mediaType, data); url != "" {
		c.add(part{Kind: kindImage, Image: url})
	}
}

// Call adds a tool call, which the caller may modify until the page is rendered.
func (c *Conversation) Call(call Call) *Call {
	added := &call
	c.add(part{Kind: kindCall, Call: added})
	return added
}

// Spent adds the token usage of the turn that ends here.
func (c *Conversation) Spent(t Tokens) {
	if t != (Tokens{}) {
		c.add(part{Kind: kindTokens, Tokens: t})
	}
}

// Break ends the last part: more text of the same message starts a new one.
func (c *Conversation) Break() { c.open = "" }

func (c *Conversation) add(p part) {
	c.parts = append(c.parts, p)
	c.Break()
}

// imageTypes are the supported image types.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// imageURL returns a data URL for an image, "" if it is not supported.
func imageURL(mediaType, data string) string {
	if !imageTypes[mediaType] || strings.Trim(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != "" {
		return ""
	}
	return "data:" + mediaType + ";base64," + data
}
