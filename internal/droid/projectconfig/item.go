// Package projectconfig reads what the files of a project bring that is not known to be harmless, and what the user's own files say
// of that. It starts nothing and changes nothing.
package projectconfig

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is what sort of thing an Item is.
type Kind string

// The kinds. What is said of droid was seen on 0.99.0, 0.215.0 and 0.225.2.
const (
	MCPServer   Kind = "MCP server" // droid starts it with the process
	Hook        Kind = "hook"       // droid runs it at an event, such as the start of a session
	Plugin      Kind = "plugin"     // may bring MCP servers, hooks and commands (0.215, 0.225)
	Program     Kind = "command"    // a command that is a program, which droid runs when it is typed (0.215, 0.225)
	Allowed     Kind = "allowed"    // shell commands that the model may run without a question
	Autonomy    Kind = "mode"       // a session starts in a mode that asks less
	UnknownFile Kind = "strange"    // a file in .factory of which nobody knows what droid does with it
	Preload     Kind = "preload"    // has a droid that is started in the session's directory run a program before anything else (0.99)
	UnknownKey  Kind = "unheard"    // a key that no droid has whose keys are known (vocabulary.go)
	Setting     Kind = "setting"    // decides what is asked or where text goes
	Unread      Kind = "unread"     // a file that could not be looked at
	// GitProgram is a program of a repository that git starts as droid, or a command about which droid does not ask, looks
	// at the repository. The user's own commands need the same setting, so it is not overruled.
	GitProgram Kind = "git program"
)

// outcomes say what becomes of each kind where nobody said yes. A kind that is not here is
// left out.
var outcomes = map[Kind]struct {
	closed bool // nothing overrules it: no session opens
	opaque bool // it may bring MCP servers and hooks of which nothing is known
}{
	Plugin:      {opaque: true},
	UnknownFile: {opaque: true},
	UnknownKey:  {opaque: true},
	Setting:     {closed: true},
	Unread:      {closed: true},

	GitProgram: {closed: true},
}

// Item is one thing in a project's files that is not known to be harmless: it runs, or has
// others run unasked, when droid works in the project, or nobody can tell.
type Item struct {
	Kind Kind
	Name string // of a server or a command; the event of a hook; the key of a setting
	Does string // the command line, the address, the value
	File string // where it stands

	// Unread says that not all of it could be read: its Sum does not tell what else stands there
	// later, so nobody can allow it.
	Unread bool

	whole string // all that says what it does, or a hash of that
}

// Sum tells items apart: another command, argument or environment is another sum. Where
// the file stands does not count.
func (i Item) Sum() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join([]string{string(i.Kind), i.Name, i.whole}, "\x00"))))
}

// Layer is what the files of a project bring that is not known to be harmless.
type Layer struct {
	Root string // of the git repository; the session's directory where there is none
	// CWD is the session's directory, below Root or that itself: a session there takes the files of each directory
	// from it up to Root, and of none beside or below it.
	CWD   string
	Items []Item
	// Found says that there is a directory in which droid looks for files of a project, see
	// folders.
	Found bool
	Texts uint64 // see TextStamp
	// Models are the models that sessions of the project are to start with, and their efforts: values of modelKeys. They are
	// no items, since a process gets the user's own.
	Models map[string]string
	// HasPolicy reports whether the project has a policy for MCP servers. It is no item, since a process that leaves something
	// out has one of its own.
	HasPolicy bool
	// Granted are the sums of what somebody has allowed, maybe not all items.
	Granted []string
}

// ByVersion are the kinds of things with which some droids do nothing.
var ByVersion = []Kind{UnknownKey, Preload}

// AllGranted reports whether there are items, and somebody has allowed all of them.
func (l Layer) AllGranted() bool {
	return len(l.Items) > 0 && !slices.ContainsFunc(l.Items, func(i Item) bool { return !slices.Contains(l.Granted, i.Sum()) })
}

// Has reports whether there is an item of one of these kinds.
func (l Layer) Has(kinds ...Kind) bool {
	return slices.ContainsFunc(l.Items, func(i Item) bool { return slices.Contains(kinds, i.Kind) })
}

// Of are the items of a kind.
func (l Layer) Of(kind Kind) (items []Item) {
	return l.where(func(i Item) bool { return i.Kind == kind })
}

func (l Layer) where(is func(Item) bool) (items []Item) {
	for _, i := range l.Items {
		if is(i) {
			items = append(items, i)
		}
	}
	return items
}

// Inseparable are the items that droid cannot be started without, and that nobody has allowed: settings that nothing
// overrules, and files of settings that could not be looked at.
func (l Layer) Inseparable() []Item {
	return l.where(func(i Item) bool { return outcomes[i.Kind].closed && !slices.Contains(l.Granted, i.Sum()) })
}

// Servers are the MCP servers as they stand in the project's files.
func (l Layer) Servers() (list []json.RawMessage) {
	for _, i := range l.Of(MCPServer) {
		list = append(list, json.RawMessage(i.whole))
	}
	return list
}

// HidesServers reports whether there may be MCP servers that cannot be named to droid. Then
// the servers of the project are left out only with all others.
func (l Layer) HidesServers() bool {
	return slices.ContainsFunc(l.Items, func(i Item) bool {
		return outcomes[i.Kind].opaque || i.Kind == MCPServer && !SafeName(i.Name)
	})
}

// HidesHooks reports whether there are hooks of the project, or may be.
func (l Layer) HidesHooks() bool {
	return slices.ContainsFunc(l.Items, func(i Item) bool { return outcomes[i.Kind].opaque || i.Kind == Hook })
}

// Except is the layer for a droid that takes nothing of these kinds.
func (l Layer) Except(kinds ...Kind) Layer {
	l.Items = l.where(func(i Item) bool { return !slices.Contains(kinds, i.Kind) })
	return l
}

var safeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })

// inherited are the names that each object of JavaScript has, as far as they have the form of
// a safe one.
var inherited = []string{"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"}

// SafeName reports whether a name can stand in settings that are written for droid, and means
// nothing but itself there.
func SafeName(name string) bool {
	return safeName().MatchString(name) && !slices.Contains(inherited, name)
}

// Same reports whether two layers bring the same, or are both nil.
func Same(a, b *Layer) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Items, b.Items, func(x, y Item) bool { return x.Sum() == y.Sum() })
}
