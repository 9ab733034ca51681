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
	title      string     // of the page; "" for the beginning of the first prompt
	properties []property // shown below the title

	parts []part
	open  string // kind and message of the last part; "" if it cannot be extended
}

// property is a property of the conversation, such as its directory. It is omitted if the value is empty.
type property struct{ Name, Value string }

// messagePart is a piece of a message. Unknown fields are empty and not shown.
type messagePart struct {
	ID    string    // adjacent pieces with the same message ID form one part
	Text  string    // plain text of the user, Markdown of the agent
	At    time.Time // in the time zone to display
	Model string    // that wrote it
}

// tokenUsage is the token usage of a turn.
type tokenUsage struct {
	Input, Output         int64 // Input excludes cached tokens
	CacheRead, CacheWrite int64
	Thinking              int64
}

// partKind classifies a part.
type partKind string

const (
	kindUser    partKind = "user"
	kindImage   partKind = "image" // of the user
	kindAgent   partKind = "agent"
	kindThought partKind = "thought"
	kindNote    partKind = "note"
	kindFailure partKind = "failure"
	kindCall    partKind = "call"
	kindTokens  partKind = "tokens"
)

// part is one part of the page.
type part struct {
	Kind   partKind
	Text   string
	At     time.Time
	Model  string
	Image  string
	Call   *toolCall
	Tokens tokenUsage
}

// addUser adds text of the user. It is shown as typed, with fenced code as code.
func (c *Conversation) addUser(s messagePart) { c.addText(kindUser, s) }

// addAgent adds a piece of the agent's answer.
func (c *Conversation) addAgent(s messagePart) { c.addText(kindAgent, s) }

// addThought adds a piece of the model's thinking, as Markdown.
func (c *Conversation) addThought(s messagePart) { c.addText(kindThought, s) }

func (c *Conversation) addText(k partKind, s messagePart) {
	if key := string(k) + s.ID; key == c.open {
		c.parts[len(c.parts)-1].Text += s.Text
		return
	}
	c.add(part{Kind: k, Text: s.Text, At: s.At, Model: s.Model})
	c.open = string(k) + s.ID
}

// addNote adds a remark by neither the user nor the model.
func (c *Conversation) addNote(text string) { c.add(part{Kind: kindNote, Text: text}) }

// addFailure adds the reason why a turn failed.
func (c *Conversation) addFailure(text string) { c.add(part{Kind: kindFailure, Text: text}) }

// addImage adds a base64-encoded image of the user. Unsupported types are omitted.
func (c *Conversation) addImage(mediaType, data string) {
	c.endPart()
	if url := imageURL(mediaType, data); url != "" {
		c.add(part{Kind: kindImage, Image: url})
	}
}

// addCall adds a tool call, which the caller may modify until the page is rendered.
func (c *Conversation) addCall(call toolCall) *toolCall {
	added := &call
	c.add(part{Kind: kindCall, Call: added})
	return added
}

// addTokens adds the token usage of the turn that ends here.
func (c *Conversation) addTokens(t tokenUsage) {
	if t != (tokenUsage{}) {
		c.add(part{Kind: kindTokens, Tokens: t})
	}
}

// endPart ends the last part: more text of the same message starts a new one.
func (c *Conversation) endPart() { c.open = "" }

func (c *Conversation) add(p part) {
	c.parts = append(c.parts, p)
	c.endPart()
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
