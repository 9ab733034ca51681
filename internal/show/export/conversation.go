// Package export writes a conversation to one HTML file that needs nothing else to
// be read: no script, no request, no file beside it. It knows what it is handed, part
// by part, and nothing of sessions or of droid.
package export

import (
	"strings"
	"time"
)

// Conversation is what a page shows. Its parts are added in their order. All texts are
// plain text or, where a comment says so, Markdown; nothing in them is taken for HTML.
type Conversation struct {
	Title string // of the page, "" for the words of the first prompt
	Facts []Fact // shown below the title

	parts []part
	open  string // kind and message of the last part, "" when no text may be added to it
}

// Fact is something about the whole conversation, such as its directory. One without a
// value is left out.
type Fact struct{ Name, Value string }

// Said is a piece of what somebody said. What is not known is left empty and not shown.
type Said struct {
	Message string    // pieces of one message that follow each other become one part
	Text    string    // as it was typed by the user, Markdown by the agent
	At      time.Time // in the zone in which it is shown
	Model   string    // that said it
}

// Tokens are what the model read and wrote in one turn.
type Tokens struct {
	Input, Output         int64 // Input is without what came from the cache or went there
	CacheRead, CacheWrite int64
	Thinking              int64
}

// kind is what a part is.
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

// User adds what the user wrote. It is shown as it was typed; code between fences is
// shown as code.
func (c *Conversation) User(s Said) { c.say(kindUser, s) }

// Agent adds a piece of the agent's answer.
func (c *Conversation) Agent(s Said) { c.say(kindAgent, s) }

// Thought adds a piece of what the model thought, which is Markdown too.
func (c *Conversation) Thought(s Said) { c.say(kindThought, s) }

func (c *Conversation) say(k kind, s Said) {
	if key := string(k) + s.Message; key == c.open {
		c.parts[len(c.parts)-1].Text += s.Text
		return
	}
	c.add(part{Kind: k, Text: s.Text, At: s.At, Model: s.Model})
	c.open = string(k) + s.Message
}

// Note adds a word that stands by itself, said by neither the user nor the model.
func (c *Conversation) Note(text string) { c.add(part{Kind: kindNote, Text: text}) }

// Failure adds why a turn failed.
func (c *Conversation) Failure(text string) { c.add(part{Kind: kindFailure, Text: text}) }

// Image adds an image of the user, its data in base64. One that a page cannot show
// is left out.
func (c *Conversation) Image(mediaType, data string) {
	c.Break()
	if url := imageURL(mediaType, data); url != "" {
		c.add(part{Kind: kindImage, Image: url})
	}
}

// Call adds a tool call, which the caller may go on to fill until the page is rendered.
func (c *Conversation) Call(call Call) *Call {
	added := &call
	c.add(part{Kind: kindCall, Call: added})
	return added
}

// Spent adds what the turn that ends here took.
func (c *Conversation) Spent(t Tokens) {
	if t != (Tokens{}) {
		c.add(part{Kind: kindTokens, Tokens: t})
	}
}

// Break ends the last part: more text of the same message begins a new one.
func (c *Conversation) Break() { c.open = "" }

func (c *Conversation) add(p part) {
	c.parts = append(c.parts, p)
	c.Break()
}

// imageTypes are the images that a page shows.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// imageURL is the address that has an image in it, "" when the page cannot show it.
func imageURL(mediaType, data string) string {
	if !imageTypes[mediaType] || strings.Trim(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != "" {
		return ""
	}
	return "data:" + mediaType + ";base64," + data
}
