package layer

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Kind is what sort of thing an Item is.
type Kind string

// The kinds. What is said of droid was seen on 0.99.0, 0.117.0, 0.215.0 and 0.225.2.
const (
	MCPServer Kind = "MCP server" // droid starts it with the process
	Hook      Kind = "hook"       // droid runs it at an event, such as the start of a session
	Plugin    Kind = "plugin"     // may bring MCP servers, hooks and commands (0.215, 0.225)
	Program   Kind = "command"    // a command that is a program, which droid runs when it is typed (0.215, 0.225)
	Allowed   Kind = "allowed"    // shell commands that the model may run without a question
	Autonomy  Kind = "mode"       // a session starts in a mode that asks less
	Setting   Kind = "setting"    // decides what is asked or where text goes
	Unread    Kind = "unread"     // a file that could not be looked at
)

// Item is one thing in a project's files that runs, or has others run unasked, when droid
// works in the project.
type Item struct {
	Kind Kind
	Name string // of a server or a command; the event of a hook; the key of a setting
	Does string // the command line, the address, the value
	File string // where it stands

	whole string // all that says what it does
}

// Sum tells items apart: another command, argument or environment is another sum. Where
// the file stands does not count.
func (i Item) Sum() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(i.Kind), i.Name, i.whole}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Layer is what the files of a project bring to run.
type Layer struct {
	Root  string // of the git repository; the session's directory where there is none
	Items []Item
	// Watcher is the program that the repository's own configuration has git run whenever
	// it looks at the files, as 0.215 and 0.225 do when they start; "" for none. A clone
	// brings no configuration; an archive may, and users have programs there themselves.
	Watcher string
}

// Has reports whether there is an item of one of these kinds.
func (l Layer) Has(kinds ...Kind) bool {
	return slices.ContainsFunc(l.Items, func(i Item) bool { return slices.Contains(kinds, i.Kind) })
}

// Of are the items of a kind.
func (l Layer) Of(kind Kind) (items []Item) {
	for _, i := range l.Items {
		if i.Kind == kind {
			items = append(items, i)
		}
	}
	return items
}

// Inseparable are the items that droid cannot be started without: settings that nothing
// overrules, and files of settings that could not be looked at.
func (l Layer) Inseparable() []Item {
	return append(l.Of(Setting), l.Of(Unread)...)
}

// Same reports whether two layers bring the same, or are both nil.
func Same(a, b *Layer) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Items, b.Items, func(x, y Item) bool { return x.Sum() == y.Sum() })
}
