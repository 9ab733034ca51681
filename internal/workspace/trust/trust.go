// Package trust remembers which projects the user lets run things. A project brings MCP
// servers, hooks, programs and settings in its files (package layer), and droid's headless
// modes take them all without a question (0.99 to 0.225).
package trust

import (
	"errors"
	"slices"
	"time"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/droid/layer"
	"droid-acp/internal/sys/files"
)

// Mode says what becomes of a project that nobody has trusted.
type Mode string

// The modes. The zero value is Ask.
const (
	Ask    Mode = "ask"    // the first prompt asks
	Always Mode = "always" // every project is trusted
	Never  Mode = "never"  // none is, and nobody is asked
)

// Options are what a Keeper needs to know.
type Options struct {
	Mode Mode
	File string // where a yes is remembered; "" for nowhere
	Home string // the user's directory, whose own .factory is no project's
}

// Keeper knows the projects that are trusted. Its methods read and write files, and may be
// called from any goroutine. Those of a nil Keeper trust everything.
type Keeper struct {
	o     Options
	locks files.Locks
}

// New makes a Keeper. It reads nothing yet.
func New(o Options) *Keeper {
	return &Keeper{o: o}
}

// Project is what is known of a project when somebody wants to work in it.
type Project struct {
	layer.Layer
	Trusted bool // it may run what it brings: it was trusted, or it brings nothing
	Asks    bool // it is not trusted, and the user is to be asked
	// Since is when somebody said yes to it last, zero where nobody did. A yes of before this was
	// kept has no time.
	Since time.Time

	key  string // of the repository: its worktrees share it
	free bool   // somebody said yes, so that nothing is left out
}

// Look says whether the project of a directory may run what it brings. Wherever it cannot
// be known, it may not.
func (k *Keeper) Look(cwd string) Project { return k.LookFor(cwd, nil) }

// LookFor is Look for a droid that is known: takes is the part of a layer that it does anything with, nil for all.
func (k *Keeper) LookFor(cwd string, takes func(layer.Layer) layer.Layer) Project {
	if k.RunsAll() {
		return Project{Trusted: true, free: true} // and nobody asks what it brings
	}
	p := Project{Layer: layer.Project(cwd, k.o.Home)}
	if takes != nil {
		p.Layer = takes(p.Layer)
	}
	p.key = config.CommonGitDir(p.Root)
	switch {
	case len(p.Items) == 0:
		p.Trusted = true
	case k.o.Mode == Never, p.Unread():
	case k.remembers(&p):
		p.Trusted, p.free = true, true
	default:
		p.Asks = true
	}
	return p
}

// ServerPrograms are layer.ServerPrograms for a session in cwd.
func (k *Keeper) ServerPrograms(cwd string) map[string]string {
	if k == nil {
		return nil
	}
	return layer.ServerPrograms(cwd, k.o.Home)
}

// NotOwn is layer.NotOwn for a session in cwd.
func (k *Keeper) NotOwn(cwd, server string) (why string, err error) {
	if k == nil {
		return "", errors.New("nothing is known of your files here")
	}
	return layer.NotOwn(cwd, k.o.Home, server)
}

// Without is what a droid that works in the project is to leave out, nil where somebody said
// yes. It is empty where nobody did and nothing is known that the project brings.
func (p Project) Without() *layer.Layer {
	if p.free {
		return nil
	}
	return &p.Layer
}

// TrustedByVersion reports whether somebody said yes to all that the project brings but what some droids do nothing with:
// their droid did nothing with it.
func (p Project) TrustedByVersion() bool {
	return !p.Trusted && p.Except(layer.ByVersion...).AllGranted()
}

// Unread reports whether the project brings something that could not be read whole. Nobody can say yes to that.
func (p Project) Unread() bool {
	return slices.ContainsFunc(p.Items, func(i layer.Item) bool { return i.Unread })
}

// RunsAll reports whether each project may run what it brings.
func (k *Keeper) RunsAll() bool { return k == nil || k.o.Mode == Always }

// MayAsk reports whether an answer of the user's changes anything.
func (k *Keeper) MayAsk() bool { return k != nil && k.o.Mode != Always && k.o.Mode != Never }

// Declined are projects, each with what it brings, that somebody was asked about and did not trust. The zero value has none.
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

// id names the project with what it brings now.
func (p Project) id() string {
	id := p.key
	for _, sum := range p.Sums() {
		id += "\n" + sum
	}
	return id
}

// In reports whether sums has that of each item.
func (p Project) In(sums []string) bool {
	return !slices.ContainsFunc(p.Sums(), func(sum string) bool { return !slices.Contains(sums, sum) })
}

// Sums are those of the items, in order, each once.
func (p Project) Sums() (sums []string) {
	for _, i := range p.Items {
		sums = append(sums, i.Sum())
	}
	slices.Sort(sums)
	return slices.Compact(sums)
}
