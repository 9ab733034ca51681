package process

import (
	"maps"
	"slices"
	"time"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
)

const (
	// followEvery is how often a file is looked at: droid writes a line for each message, without a notification.
	followEvery = 500 * time.Millisecond
	// followPatience is how long after its end a subagent's file may lack how its calls ended.
	followPatience = 3 * time.Second
)

// Subagents are the subagents whose files are read: how far each was read, and when it is read next. The
// zero value has none; only who has the session's lock touches it.
type Subagents struct{ all map[string]*followed }

type followed struct {
	place store.Offset
	lines []stream.ChildLine // that were read and not taken
	due   time.Time
	until time.Time // zero while it works
}

// Begin follows a subagent from now on. Of one that was followed before, the file is read on.
func (f *Subagents) Begin(now time.Time, id string) {
	if f.all == nil {
		f.all = make(map[string]*followed)
	}
	one := f.all[id]
	if one == nil {
		one = new(followed)
		f.all[id] = one
	}
	one.due, one.until = now.Add(followEvery), time.Time{}
}

// Due returns the time when a file is to be looked at; false where none is.
func (f *Subagents) Due() (at time.Time, ok bool) {
	for _, one := range f.all {
		if !one.due.IsZero() && (!ok || one.due.Before(at)) {
			at, ok = one.due, true
		}
	}
	return at, ok
}

// IDs returns all of them, in an order that does not change.
func (f *Subagents) IDs() []string { return slices.Sorted(maps.Keys(f.all)) }

// Next returns those whose time has come, in the order of IDs. Each is due again a while later.
func (f *Subagents) Next(now time.Time) (ids []string) {
	for _, id := range f.IDs() {
		if one := f.all[id]; !one.due.IsZero() && !now.Before(one.due) {
			one.due = now.Add(followEvery)
			ids = append(ids, id)
		}
	}
	return ids
}

// Offset returns how far a subagent's file was read.
func (f *Subagents) Offset(id string) (from store.Offset) {
	if one := f.all[id]; one != nil {
		from = one.place
	}
	return from
}

// Restart makes the file of a subagent be read from its beginning.
func (f *Subagents) Restart(id string) {
	if one := f.all[id]; one != nil {
		one.place, one.lines = store.Offset{}, nil
	}
}

// Read adds lines that were read between two places of a file. It reports false, and adds none, if somebody else has read on from the first
// one in the meantime: then what was read is known already.
func (f *Subagents) Read(id string, from, to store.Offset, lines []stream.ChildLine) bool {
	one := f.all[id]
	if one == nil || one.place != from {
		return false
	}
	one.place, one.lines = to, append(one.lines, lines...)
	return true
}

// Take removes the lines that were read, and returns them.
func (f *Subagents) Take(id string) (lines []stream.ChildLine) {
	if one := f.all[id]; one != nil {
		lines, one.lines = one.lines, nil
	}
	return lines
}

// Stopped notes that a subagent has ended. Its file is read on, for a while, if calls of its have no end yet. It reports
// whether that is to be given up.
func (f *Subagents) Stopped(now time.Time, id string, calls bool) (giveUp bool) {
	one := f.all[id]
	switch {
	case one == nil:
		return calls
	case !calls:
		one.due = time.Time{}
	case one.until.IsZero():
		one.until = now.Add(followPatience)
	case !now.Before(one.until):
		one.due = time.Time{}
		return true
	}
	return false
}
