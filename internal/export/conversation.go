// Package export writes a conversation to one HTML file that needs nothing else to
// be read. It knows what it is handed, part by part, and nothing of sessions or of
// droid.
package export

import (
	"html/template"
	"strings"
)

// Conversation is what a page shows. Its parts are added in their order. Text and
// titles are plain text; nothing in them is taken for HTML.
type Conversation struct {
	Title   string // of the page, "" for a general one
	Session string // the session's id
	Dir     string // the session's directory

	parts []part
	open  string         // kind and message of the last part, "" when no text may be added to it
	tools map[string]int // the part of each tool call, by its id
}

// part is one part of the page.
type part struct {
	Kind   string // "user", "agent", "thought", "tool" or "image"
	Title  string
	Text   string
	Lines  []Line
	Images []template.URL
	Failed bool
}

// Line is a line of a change that a tool call makes.
type Line struct{ Class, Text string }

// Removed returns the lines of text as lines that a change removes.
func Removed(text string) []Line { return linesOf("del", "- ", text) }

// Added returns the lines of text as lines that a change adds.
func Added(text string) []Line { return linesOf("add", "+ ", text) }

// Unmarked returns the lines of text as they are.
func Unmarked(text string) []Line { return linesOf("", "", text) }

func linesOf(class, sign, text string) (lines []Line) {
	for line := range strings.Lines(text) {
		lines = append(lines, Line{class, sign + strings.TrimRight(line, "\r\n")})
	}
	return lines
}

// User adds what the user wrote. Pieces of one message that follow each other
// become one part, as in Agent and Thought.
func (c *Conversation) User(message, text string) { c.say("user", message, text) }

// Agent adds a piece of the agent's answer.
func (c *Conversation) Agent(message, text string) { c.say("agent", message, text) }

// Thought adds a piece of what the model thought.
func (c *Conversation) Thought(message, text string) { c.say("thought", message, text) }

func (c *Conversation) say(kind, message, text string) {
	if key := kind + message; key == c.open {
		c.parts[len(c.parts)-1].Text += text
		return
	}
	c.add(part{Kind: kind, Text: text})
	c.open = kind + message
}

// Note adds a word that stands by itself, in the style of a thought.
func (c *Conversation) Note(text string) { c.add(part{Kind: "thought", Text: text}) }

// Image adds an image of the user, its data in base64. One that a page cannot show
// is left out.
func (c *Conversation) Image(mediaType, data string) {
	c.Break()
	if url := imageURL(mediaType, data); url != "" {
		c.add(part{Kind: "image", Images: []template.URL{url}})
	}
}

// Tool adds a tool call with the change that it makes, if any.
func (c *Conversation) Tool(id, title string, change []Line) {
	if c.tools == nil {
		c.tools = map[string]int{}
	}
	c.tools[id] = len(c.parts)
	c.add(part{Kind: "tool", Title: title, Lines: change})
}

// ToolText adds text to the result of a tool call. A call that was not added has no
// result.
func (c *Conversation) ToolText(id, text string) { c.result(id, func(p *part) { p.Text += text }) }

// ToolImage adds an image to the result of a tool call, its data in base64. One
// that a page cannot show is left out.
func (c *Conversation) ToolImage(id, mediaType, data string) {
	if url := imageURL(mediaType, data); url != "" {
		c.result(id, func(p *part) { p.Images = append(p.Images, url) })
	}
}

// ToolFailed marks a tool call as failed.
func (c *Conversation) ToolFailed(id string) { c.result(id, func(p *part) { p.Failed = true }) }

func (c *Conversation) result(id string, change func(*part)) {
	if i, ok := c.tools[id]; ok {
		change(&c.parts[i])
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
func imageURL(mediaType, data string) template.URL {
	if !imageTypes[mediaType] || strings.Trim(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != "" {
		return ""
	}
	return template.URL("data:" + mediaType + ";base64," + data)
}
