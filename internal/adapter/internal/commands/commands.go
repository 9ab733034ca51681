// Package commands knows the commands of a session that are not this agent's own: custom
// commands of the user and the project, and skills, as droid lists them. droid expands
// them in a prompt.
package commands

import (
	"slices"
	"strings"
	"time"

	"droid-acp/internal/acp/protocol"
)

// List has the commands that a session knows. It is not safe for concurrent use; the zero
// value knows none.
type List struct {
	found   Found
	offered []protocol.AvailableCommand // each name once
	gone    map[string]bool             // what droid listed once and does not list any more

	looks, taken int       // the last look that began, and the last one whose outcome was taken
	due          time.Time // of a look that is wanted, zero for none
}

// lookAfter is how long after a turn droid is asked for its commands. Its answer has the text
// of every skill (0.225.2: 0.7 MB), and a prompt that came right behind the turn would wait for it.
const lookAfter = time.Second

// TurnEnded notes that a turn has ended, which may have written commands.
func (l *List) TurnEnded(now time.Time) { l.due = now.Add(lookAfter) }

// Due returns the time when a look is wanted; ok is false when none is.
func (l *List) Due() (at time.Time, ok bool) { return l.due, !l.due.IsZero() }

// NotDue notes that no look is wanted: the end of a turn that begins wants one again.
func (l *List) NotDue() { l.due = time.Time{} }

// Look notes that a look for commands begins, and returns its number.
func (l *List) Look() int {
	l.looks++
	l.NotDue()
	return l.looks
}

// Take records the result of a look, unless a later look was recorded already. A command that droid does not report is not offered, unless
// it was reported before.
func (l *List) Take(look int, found Found) {
	if look < l.taken {
		return
	}
	found = found.after(l.found)
	if l.gone == nil {
		l.gone = make(map[string]bool)
	}
	for _, c := range l.found.commands {
		l.gone[c.Name] = true
	}
	for _, c := range found.commands {
		delete(l.gone, c.Name)
	}
	l.found, l.taken = found, look
	l.offered = found.offered()
}

// Known reports whether a look has ended.
func (l *List) Known() bool { return l.taken > 0 }

// Offered returns the commands that the user can type.
func (l *List) Offered() []protocol.AvailableCommand { return slices.Clone(l.offered) }

// Has reports whether a command of this name is offered.
func (l *List) Has(name string) bool { return has(l.offered, protocol.Line(name)) }

// Removed reports whether a command of this name was removed while droid ran. droid fails a turn that begins with such a name (0.225).
func (l *List) Removed(name string) bool { return !l.Has(name) && l.gone[Name(name)] }

// Split splits a prompt "/name args".
func Split(text string) (name, args string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(text, " \t\n")
	if end < 0 {
		return text, "", text != ""
	}
	if end == 0 {
		return "", "", false
	}
	return text[:end], strings.TrimSpace(text[end:]), true
}

// Name returns the name that users type for a command or a skill: lower case letters, digits and _, with one - for everything between them,
// as droid makes it (0.215 and 0.225). A name that has none of these stays as it is, unless it contains spaces.
func Name(name string) string {
	var b strings.Builder
	readable, gap := false, false
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
			readable, gap = true, false
		case !gap:
			b.WriteByte('-')
			gap = true
		}
	}
	if !readable {
		return strings.Join(strings.Fields(name), "-")
	}
	return b.String()
}

// has reports whether there is a command of this name among some.
func has(commands []protocol.AvailableCommand, name protocol.Line) bool {
	for _, c := range commands {
		if c.Name == name {
			return true
		}
	}
	return false
}
