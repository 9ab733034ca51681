// Package trust records which projects the user allows to run things. A project brings MCP servers, hooks, programs and settings in its
// files (package projectconfig), all of which droid's headless modes use without asking (0.99 to 0.225). The main type is Store; adapter asks it
// before each prompt, and the trust command changes it.
package trust

import (
	"errors"
	"slices"
	"time"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/sys/files"
)

// Mode is how untrusted projects are treated.
type Mode string

// The zero value means Ask.
const (
	Ask    Mode = "ask"    // the first prompt asks
	Always Mode = "always" // every project is trusted
	Never  Mode = "never"  // no project is trusted, and the user is not asked
)

// Options configure a Store.
type Options struct {
	Mode Mode
	File string // stores the decisions; "" for nowhere
	Home string // the user's directory, whose .factory is not a project's
}

// Store stores the trusted projects. Its methods access files, and may be called from any goroutine. A nil Store trusts everything.
type Store struct {
	o     Options
	locks files.Locks
}

// New returns a Store. It reads nothing yet.
func New(o Options) *Store {
	return &Store{o: o}
}

// Project is the state of a project in which a session is about to work.
type Project struct {
	projectconfig.Layer
	Trusted bool // it may run what it brings: it is trusted, or brings nothing
	Asks    bool // it is not trusted, and the user must be asked
	// since is when the user last said yes, zero if never or if that was before times were recorded.
	since time.Time

	key  string // of the repository, shared by its worktrees
	free bool   // the user said yes: nothing is left out
}

// Check reports whether the project of a directory may run what it brings. In doubt it may not.
func (s *Store) Check(cwd string) Project { return s.CheckFor(cwd, nil) }

// CheckFor is Check for a known droid version: takes returns the part of a layer that it uses, nil for all.
func (s *Store) CheckFor(cwd string, takes func(projectconfig.Layer) projectconfig.Layer) Project {
	if s.TrustsAll() {
		return Project{Trusted: true, free: true} // what it brings is irrelevant
	}
	p := Project{Layer: projectconfig.Project(cwd, s.o.Home)}
	if takes != nil {
		p.Layer = takes(p.Layer)
	}
	p.key = config.CommonGitDir(p.Root)
	switch {
	case len(p.Items) == 0:
		p.Trusted = true
	case s.o.Mode == Never, p.HasUnread():
	case s.remembers(&p):
		p.Trusted, p.free = true, true
	default:
		p.Asks = true
	}
	return p
}

// ServerPrograms is projectconfig.ServerPrograms for a session in cwd.
func (s *Store) ServerPrograms(cwd string) map[string]string {
	if s == nil {
		return nil
	}
	return projectconfig.ServerPrograms(cwd, s.o.Home)
}

// NotOwn is projectconfig.NotOwn for a session in cwd.
func (s *Store) NotOwn(cwd, server string) (why string, err error) {
	if s == nil {
		return "", errors.New("nothing is known of your files here")
	}
	return projectconfig.NotOwn(cwd, s.o.Home, server)
}

// Excluded returns what a droid working in the project must leave out, nil if the user said yes. It is empty if they did not and the project
// is not known to bring anything.
func (p Project) Excluded() *projectconfig.Layer {
	if p.free {
		return nil
	}
	return &p.Layer
}

// TrustedByVersion reports whether the user said yes to everything that the project brings except what only some droid versions use: theirs
// did not use it.
func (p Project) TrustedByVersion() bool {
	return !p.Trusted && p.Except(projectconfig.ByVersion...).AllGranted()
}

// HasUnread reports whether the project brings something that could not be read completely. It cannot be trusted.
func (p Project) HasUnread() bool {
	return slices.ContainsFunc(p.Items, func(i projectconfig.Item) bool { return i.Unread })
}

// TrustsAll reports whether every project may run what it brings.
func (s *Store) TrustsAll() bool { return s == nil || s.o.Mode == Always }

// MayAsk reports whether the user's answer has any effect.
func (s *Store) MayAsk() bool { return s != nil && s.o.Mode != Always && s.o.Mode != Never }

// Declined is a set of projects, each with what it brings, that the user was asked about and did not trust. The zero value is empty.
type Declined map[string]bool

// Add adds a project.
func (d *Declined) Add(p Project) {
	if *d == nil {
		*d = Declined{}
	}
	(*d)[p.id()] = true
}

// Has reports whether a project was declined with what it brings now.
func (d Declined) Has(p Project) bool { return d[p.id()] }

// id identifies the project with what it brings now.
func (p Project) id() string {
	id := p.key
	for _, sum := range p.Sums() {
		id += "\n" + sum
	}
	return id
}

// CoveredBy reports whether sums contains the sum of each item.
func (p Project) CoveredBy(sums []string) bool {
	return !slices.ContainsFunc(p.Sums(), func(sum string) bool { return !slices.Contains(sums, sum) })
}

// Sums returns the sums of the items, sorted, without duplicates.
func (p Project) Sums() (sums []string) {
	for _, i := range p.Items {
		sums = append(sums, i.Sum())
	}
	slices.Sort(sums)
	return slices.Compact(sums)
}
