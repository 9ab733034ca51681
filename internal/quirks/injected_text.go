package quirks

// What droid does: it adds text for the model to the user's. 0.99 puts it into the user's message, before and after the user's text; since
// 0.215 it is a separate hidden message with an ID that begins with "context-", and only the paths of images are still in the user's
// message. Such text is in <system-reminder> tags. Of a custom command, 0.225 stores the expansion in <system-notification> tags and not
// what the user typed; only "/greet is running" precedes it. create_message omits the reminders.
// Seen on: 0.99, 0.225.
// Quirk: 21, 33.
// Histories: testdata/history.
//
// Injected text is recognized by the position of its tags: the opening tag begins or ends a line, the closing one ends a line. Tags within
// a line of the user stay. The price: if a user pastes such a block with its tags on separate lines, it is not shown again, though the
// model still has it. A block that is never closed hides the rest of its message, since hiding too much is the lesser harm.

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/droid/stream"
)

// injectedMessage reports whether a message has nothing for the user.
func injectedMessage(m stream.Message) bool {
	return m.Visibility == stream.VisibilityLLMOnly || m.HookEvent != "" ||
		strings.HasPrefix(m.ID, "context-") ||
		strings.HasPrefix(m.ID, "__internal__")
}

// userEvents returns the user's part of a message: one text, then the images, in whatever order droid stores them. droid puts attachments
// before the text (0.99 to 0.225).
func userEvents(m stream.Message) []Event {
	var texts []string
	var files []UserFile
	var images []Event
	var strip stripper
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			if text := strip.text(b.Text); text != "" {
				texts = append(texts, text)
			}
		case "document":
			s := sourceOf(b)
			files = append(files, UserFile{Name: s.Name, MediaType: s.MediaType})
		case "image":
			if s := sourceOf(b); s.Data != "" {
				images = append(images, UserImage{MessageID: m.ID, Data: s.Data, MediaType: s.MediaType})
			}
		}
	}
	if len(texts)+len(files) == 0 {
		return images
	}
	return append([]Event{UserText{MessageID: m.ID, Text: strings.Join(texts, "\n"), Files: files}}, images...)
}

// source is the source of an image or a document.
type source struct {
	MediaType string `json:"mediaType"`
	Data      string `json:"data"`
	Name      string `json:"name"`
}

// sourceOf parses the source of a block; it is empty if invalid.
func sourceOf(b stream.ContentBlock) source {
	var block struct {
		Source source `json:"source"`
	}
	if json.Unmarshal(b.Raw, &block) != nil {
		return source{}
	}
	return block.Source
}

var (
	// opening matches the opening tags of injected text at the beginning or the end of a line.
	opening = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*<system-(reminder|notification)>|<system-(reminder|notification)>[ \t\r]*$`)
	})
	// lineEnd matches what may follow a closing tag on its line.
	lineEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t\r]*(\n|$|<system-)`) })
)

// stripper removes injected text from the text blocks of one message.
type stripper struct {
	inside string // the tag left open by an earlier block
}

// text returns the user's part of a block.
func (s *stripper) text(block string) string {
	var kept strings.Builder
	rest, cut := block, false
	for rest != "" {
		if s.inside != "" {
			cut = true
			end := closing(rest, s.inside)
			if end < 0 {
				break
			}
			rest, s.inside = rest[end:], ""
			continue
		}
		var at []int
		if strings.Contains(rest, "<system-") { // cheap check first: the pattern is slow
			at = opening().FindStringIndex(rest)
		}
		if at == nil {
			kept.WriteString(rest)
			break
		}
		kept.WriteString(rest[:at[0]])
		s.inside = strings.Trim(rest[at[0]:at[1]], "<> \t\r")
		rest = rest[at[1]:]
	}
	if cut {
		return strings.TrimSpace(kept.String())
	}
	return kept.String()
}

// closing returns the index after the closing tag of injected text, or −1. It is the first closing tag at the end of a line, as the text
// may contain others, such as those of a quoted file. If another block opens before that tag, or no tag ends a line, it is the first
// closing tag of all.
func closing(text, tag string) int {
	tag = "</" + tag + ">"
	first := -1
	limit := len(text)
	for from := 0; ; {
		i := strings.Index(text[from:], tag)
		if i < 0 || from+i > limit {
			return first
		}
		from += i + len(tag)
		if lineEnd().MatchString(text[from:]) {
			return from
		}
		if first < 0 {
			first = from
			if at := opening().FindStringIndex(text[from:]); at != nil {
				limit = from + at[0]
			}
		}
	}
}
