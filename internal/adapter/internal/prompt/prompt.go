// Package prompt turns the content blocks of a prompt (ACP v1) into a message for
// droid. It reads nothing but what it is handed.
package prompt

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/rawjson"
)

// Prompt is the parsed prompt of a session/prompt request.
type Prompt struct{ blocks []block }

// block is one block of a prompt (ACP v1, ContentBlock). The SDK's type (acp-go-sdk 0.13.5) mistakes unknown variants for others.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text"`
	Data     string    `json:"data"`
	MimeType string    `json:"mimeType"`
	URI      string    `json:"uri"`
	Name     string    `json:"name"`
	Resource *resource `json:"resource"`
}

// resource is an embedded resource: it has a text or a blob, which is base64.
type resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     *string `json:"blob"`
}

// Rules say which content the session can take.
type Rules struct {
	Dir         string          // what mentions in the text are relative to
	AttachFiles bool            // this droid takes attached files (since 0.99)
	BlindModel  string          // the name of the model in use when it cannot see images, else ""
	Missing     map[string]bool // the files that are not there, by absolute path
}

// Error says what is wrong with a prompt and what to send instead. It is the
// sender's to mend.
type Error struct{ text string }

// Error returns a text for the user, without a full stop.
func (e *Error) Error() string { return e.text }

func errorf(format string, args ...any) *Error { return &Error{fmt.Sprintf(format, args...)} }

// Parse reads a prompt, a JSON array of content blocks. Its errors are of type
// *Error. What is in the blocks is not checked before Message.
func Parse(raw json.RawMessage) (Prompt, error) {
	var p Prompt
	if err := json.Unmarshal(raw, &p.blocks); err != nil {
		return Prompt{}, errorf("prompt must be a list of content blocks%s", rawjson.ListErrorDetail(err))
	}
	if len(p.blocks) == 0 {
		return Prompt{}, errorf("prompt is empty; send at least one content block")
	}
	return p, nil
}

// Marks are hashes of a prompt's blocks, by which they are known when they come again.
type Marks [][sha256.Size]byte

// Marks returns the hashes of the prompt's blocks.
func (p Prompt) Marks() (m Marks) {
	for _, b := range p.blocks {
		h := sha256.New()
		parts := []*string{&b.Type, &b.Text, &b.Data, &b.MimeType, &b.URI, &b.Name}
		if r := b.Resource; r != nil {
			parts = append(parts, &r.URI, &r.MimeType, r.Text, r.Blob)
		}
		for _, part := range parts {
			if part == nil {
				fmt.Fprint(h, "-")
				continue
			}
			fmt.Fprint(h, len(*part), ":", *part)
		}
		m = append(m, [sha256.Size]byte(h.Sum(nil)))
	}
	return m
}

// Without returns the prompt without the blocks of another one, where it begins with all of them, as they
// were, and has more. Texts are not compared one by one: avante repeats older ones on purpose, the newest
// first (read).
func (p Prompt) Without(other Marks) Prompt {
	if n := len(other); n < len(p.blocks) && slices.Equal(Prompt{p.blocks[:n]}.Marks(), other) {
		return Prompt{p.blocks[n:]}
	}
	return p
}

// Text returns the text of a prompt with one block of text, such as a command. Files that the editor attaches by itself may accompany it,
// as Qt Creator attaches the open one; but a text that ends in white space continues with them. ok is false for all other prompts.
func (p Prompt) Text() (text string, ok bool) {
	for _, block := range p.blocks {
		switch {
		case block.Type == "text" && !ok:
			text, ok = block.Text, true
		case block.Type == "resource_link", block.Resource != nil && block.Resource.Text != nil:
		default:
			return "", false
		}
	}
	if len(p.blocks) > 1 && strings.TrimRightFunc(text, unicode.IsSpace) != text {
		return "", false
	}
	return text, ok
}

// Links returns the files that the prompt links, as absolute paths.
func (p Prompt) Links() (files []string) {
	for _, block := range p.blocks {
		if path, ok := paths.FromURI(block.URI); ok && block.Type == "resource_link" {
			files = append(files, path)
		}
	}
	return files
}

// Message returns droid's message. Its text has the blocks in their order: text as
// it is, and for each resource a mention. A droid that takes no attached files gets
// the text of embedded resources within the message. Errors are of type *Error.
func (p Prompt) Message(rules Rules) (stream.UserMessage, error) {
	b := builder{Rules: rules, mentioned: p.mentioned(rules.Dir)}
	for i, block := range p.blocks {
		if problem := b.add(block); problem != "" {
			return stream.UserMessage{}, errorf("prompt[%d]: %s", i, problem)
		}
	}
	b.msg.Text = b.text.String()
	return b.msg, nil
}

// mentioned returns the files that the user's own text mentions, by their paths.
func (p Prompt) mentioned(dir string) map[string]bool {
	files := map[string]bool{}
	for _, block := range p.blocks {
		if block.Type != "text" {
			continue
		}
		for _, path := range paths.Mentioned(block.Text, dir) {
			files[path] = true
		}
	}
	return files
}
