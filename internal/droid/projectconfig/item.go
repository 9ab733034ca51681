// Package projectconfig reads the configuration that a project's files bring, as far as it is not known to be harmless, and the user's own
// settings for it. Its main types are Layer and Item. Package trust asks the user about a Layer, and package droid excludes it from a
// process. It starts nothing and changes nothing.
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

// Kind is the kind of an Item.
type Kind string

// Kinds of items. Statements about droid were verified with 0.99.0, 0.215.0 and 0.225.2.
const (
	MCPServer   Kind = "MCP server" // droid starts it with the process
	Hook        Kind = "hook"       // droid runs it at an event, such as the start of a session
	Plugin      Kind = "plugin"     // may bring MCP servers, hooks and commands (0.215, 0.225)
	Program     Kind = "command"    // an executable command, which droid runs when the user types it (0.215, 0.225)
	Allowed     Kind = "allowed"    // shell commands that the model may run without a question
	Autonomy    Kind = "mode"       // a session starts in a mode that asks less
	UnknownFile Kind = "strange"    // a file in .factory whose use by droid is unknown
	Preload     Kind = "preload"    // makes a droid that is started in the session's directory run a program first (0.99)
	UnknownKey  Kind = "unheard"    // a key that no droid with known keys has (vocabulary.go)
	Setting     Kind = "setting"    // decides what is asked or where text goes
	Unread      Kind = "unread"     // a file that could not be read
	// GitProgram is a program that a repository makes git start when droid, or a command that needs no question, inspects the repository.
	// The user's own commands need the same setting, so it is not overridden.
	GitProgram Kind = "git program"
)

// outcomes say what happens to each kind if the user has not allowed it. A kind that is not listed is excluded.
var outcomes = map[Kind]struct {
	closed bool // nothing overrides it: no session can be opened
	opaque bool // it may contain unknown MCP servers and hooks
}{
	Plugin:      {opaque: true},
	UnknownFile: {opaque: true},
	UnknownKey:  {opaque: true},
	Setting:     {closed: true},
	Unread:      {closed: true},

	GitProgram: {closed: true},
}

// Item is one thing in a project's files that is not known to be harmless when droid works in the project: it runs, lets something run
// without a question, or may do so.
type Item struct {
	Kind Kind
	Name string // of a server or a command; the event of a hook; the key of a setting
	Does string // the command line, the address, or the value
	File string // the file that contains it

	// Unread means that it could not be read completely: its Sum does not cover everything, so it cannot be allowed.
	Unread bool

	whole string // everything that determines what it does, or a hash of that
}

// Sum identifies an item: a different command, argument or environment has a different sum. The file's path is not included.
func (i Item) Sum() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join([]string{string(i.Kind), i.Name, i.whole}, "\x00"))))
}

// Layer is the part of a project's files that is not known to be harmless.
type Layer struct {
	Root string // of the git repository; the session's directory where there is none
	// CWD is the session's directory, Root or below it: a session uses the files of each directory from CWD up to Root, and of no others.
	CWD   string
	Items []Item
	// Found says that the project has a directory in which droid looks for files, see folders.
	Found bool
	Texts uint64 // see TextStamp
	// Models are the models and efforts with which the project's sessions would start: values of modelKeys. They are not items, since a
	// process gets the user's own.
	Models map[string]string
	// HasPolicy says that the project has a policy for MCP servers. That is not an item, since a process that excludes something has its
	// own policy.
	HasPolicy bool
	// Granted are the sums of what the user has allowed, which may cover only some items.
	Granted []string
}

// ByVersion are the kinds that some versions of droid ignore.
var ByVersion = []Kind{UnknownKey, Preload}

// AllGranted reports whether there are items, and all of them are allowed.
func (l Layer) AllGranted() bool {
	return len(l.Items) > 0 && !slices.ContainsFunc(l.Items, func(i Item) bool { return !slices.Contains(l.Granted, i.Sum()) })
}

// Has reports whether there is an item of one of these kinds.
func (l Layer) Has(kinds ...Kind) bool {
	return slices.ContainsFunc(l.Items, func(i Item) bool { return slices.Contains(kinds, i.Kind) })
}

// Of returns the items of a kind.
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

// Inseparable returns the items that droid cannot be started without, and that are not allowed: settings that nothing overrides, and
// settings files that could not be read.
func (l Layer) Inseparable() []Item {
	return l.where(func(i Item) bool { return outcomes[i.Kind].closed && !slices.Contains(l.Granted, i.Sum()) })
}

// Servers returns the MCP servers as written in the project's files.
func (l Layer) Servers() (list []json.RawMessage) {
	for _, i := range l.Of(MCPServer) {
		list = append(list, json.RawMessage(i.whole))
	}
	return list
}

// HidesServers reports whether there may be MCP servers whose names are unknown. The project's servers can then be excluded only together
// with all others.
func (l Layer) HidesServers() bool {
	return slices.ContainsFunc(l.Items, func(i Item) bool {
		return outcomes[i.Kind].opaque || i.Kind == MCPServer && !SafeName(i.Name)
	})
}

// HidesHooks reports whether the project has hooks, or may have.
func (l Layer) HidesHooks() bool {
	return slices.ContainsFunc(l.Items, func(i Item) bool { return outcomes[i.Kind].opaque || i.Kind == Hook })
}

// Except returns the layer for a droid that ignores these kinds.
func (l Layer) Except(kinds ...Kind) Layer {
	l.Items = l.where(func(i Item) bool { return !slices.Contains(kinds, i.Kind) })
	return l
}

var safeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })

// inherited are the property names of every JavaScript object that match safeName.
var inherited = []string{"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"}

// SafeName reports whether a name can be used in settings that are written for droid, without a special meaning there.
func SafeName(name string) bool {
	return safeName().MatchString(name) && !slices.Contains(inherited, name)
}

// Same reports whether two layers have the same content, or are both nil.
func Same(a, b *Layer) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Items, b.Items, func(x, y Item) bool { return x.Sum() == y.Sum() })
}
