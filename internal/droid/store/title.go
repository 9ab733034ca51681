package store

import (
	"strings"
	"unicode"
)

const (
	maxPromptTitle = 80  // characters, for a title from the user's text
	maxOwnTitle    = 200 // characters, for a given name
)

// placeholder is droid's title of a session without a name.
const placeholder = "New Session"

// forkMark is the prefix of a fork's title in 0.99.
const forkMark = "[Fork] "

// title returns the session's title as Session documents it.
//
// droid's title is first the user's text on one line, cut at 150 characters. A model names the session later (sessionTitle in 0.99, title
// in 0.225), and the user may. Forks inherit either without recording which.
func (h head) title() string {
	title := h.SessionTitle
	if title == "" || title == placeholder {
		title = h.Title
	}
	if title == "" || title == placeholder {
		return promptTitle(h.prompt)
	}
	mark := ""
	if rest, ok := strings.CutPrefix(title, forkMark); ok {
		mark, title = forkMark, rest
	}
	cleaned := oneLine(clean(title))
	switch {
	case cleaned != "" && h.named():
		return mark + cut(cleaned, maxOwnTitle)
	case strings.TrimSpace(h.prompt) == "" || cleaned == "" || cleaned != oneLine(title):
		// droid's title is one line: the end of the user's first line is unknown.
		if t := promptTitle(h.prompt); t != "" {
			return mark + t
		}
		if cleaned == "" {
			return ""
		}
		return mark + cut(cleaned, maxPromptTitle)
	case strings.HasPrefix(oneLine(h.prompt), strings.TrimSuffix(cleaned, "...")):
		return mark + promptTitle(h.prompt)
	}
	return mark + cut(cleaned, maxOwnTitle)
}

// named reports whether the user or a model gave the session its title.
func (h head) named() bool { return h.TitleIsUsers || h.TitleStage != "" }

// CleanTitle makes a title of droid suitable for a list: one line without injected text, at most 80 characters long. droid's first title is
// the user's text, including attached files (0.99 to 0.225).
func CleanTitle(title string) string { return cut(oneLine(clean(title)), maxPromptTitle) }

// promptTitle returns the first non-empty line of prompt.
func promptTitle(prompt string) string {
	for line := range strings.Lines(prompt) {
		if line = oneLine(line); line != "" {
			return cut(line, maxPromptTitle)
		}
	}
	return ""
}

// injected are the tags of blocks in a message that the user did not write: droid's own (0.99 puts them into the user's message), and
// attached files.
var injected = []string{"system-reminder", "attached-file"}

// clean removes injected blocks. A block without an end was cut off: everything after its beginning is removed.
func clean(text string) string {
	for _, tag := range injected {
		text = without(text, tag)
	}
	return text
}

func without(text, tag string) string {
	opening, closing := "<"+tag, "</"+tag+">"
	if !strings.Contains(text, opening) {
		return text
	}
	var b strings.Builder
	for {
		before, block, found := strings.Cut(text, opening)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if block != "" && block[0] != '>' && block[0] != ' ' && block[0] != '\n' {
			b.WriteString(opening) // another tag with the same beginning
			text = block
			continue
		}
		_, after, ended := strings.Cut(block, closing)
		if !ended {
			return b.String()
		}
		text = after
	}
}

// oneLine replaces each run of white space by one space, and removes control characters and those that change the direction of text.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Bidi_Control):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// cut shortens text to n characters; the last is then an ellipsis.
func cut(text string, n int) string {
	count := 0
	end := 0 // of character n-1
	for i := range text {
		if count == n-1 {
			end = i
		}
		if count == n {
			return strings.TrimRight(text[:end], " ") + "…"
		}
		count++
	}
	return text
}

// Name is the name of a thread. The zero value is for a thread without a name.
type Name struct {
	title string
	given int // number of times the user has set one here
}

// Title returns the title, "" if none.
func (n *Name) Title() string { return n.title }

// Given returns how often the user has set the thread's title in this agent.
func (n *Name) Given() int { return n.given }

// Set sets the title. It reports false for a title of droid if the user has set one, which stays.
func (n *Name) Set(title string, byUser bool) bool {
	switch {
	case byUser:
		n.given++
	case n.given > 0:
		return false
	}
	n.title = title
	return true
}
