package quirks

// What droid does: it adds text for the model to what the user says. 0.99 puts
// it into the user's message, before and after the user's words; since 0.215 it
// is a message of its own, hidden and with an id that begins with "context-";
// only the paths of images still stand in the user's message. Such text is in
// <system-reminder> tags. Of a custom command, 0.225 keeps what it expands to, in
// <system-notification> tags, and not what the user typed; "/greet is running"
// before it says that much. create_message leaves the reminders out.
// Seen on: 0.99, 0.225.
// Quirk: 21, 33.
// Histories: testdata/history.
//
// A block of injected text is told by where its tags stand: the opening one
// begins a line or ends it, the closing one ends a line. Tags within a line of
// the user's stay. The price is that a user who pastes such a block, tags on
// lines of their own, does not see it again; the model still has it. A block
// that is never closed hides the rest of its message: hiding too much is the
// lesser harm.

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

// userEvents tells what the user said: one text, then the images, in whatever
// order droid keeps them. It puts what was attached before the text (0.99 to 0.225).
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

// source is where an image or a document comes from.
type source struct {
	MediaType string `json:"mediaType"`
	Data      string `json:"data"`
	Name      string `json:"name"`
}

// sourceOf reads the source of a block, which is empty where it cannot be read.
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
	// opening tags of injected text, at the beginning or the end of a line
	opening = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*<system-(reminder|notification)>|<system-(reminder|notification)>[ \t\r]*$`)
	})
	// what may follow a closing tag on its line
	lineEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t\r]*(\n|$|<system-)`) })
)

// stripper removes injected text from the text blocks of one message.
type stripper struct {
	inside string // the tag that an earlier block left open
}

// text returns the part of a block that the user wrote.
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
		if strings.Contains(rest, "<system-") { // most texts have none, and the pattern takes long
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

// closing returns where injected text ends, behind its closing tag, or −1. The
// closing tag is the first one at the end of a line: the text may well have others
// within, such as those of a file it quotes. If the next block opens before that
// tag, or no tag ends a line, it is the first tag of all.
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
