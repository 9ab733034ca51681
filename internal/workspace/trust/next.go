package trust

import (
	"slices"

	"droid-acp/internal/droid/layer"
)

// Step is what must happen before droid may have a prompt.
type Step int

// The steps. After Question and Replace, another look decides again.
const (
	Send     Step = iota // droid may have it
	Question             // the user must be asked whether the project may run what it brings
	Replace              // another droid must be started, with what the project brings now
)

// Facts are what Next decides by.
type Facts struct {
	// Brings is what a look has just found, as far as droid does anything with it. Allowed says
	// that the user said yes to all of it, and Asks that they are to be asked.
	Brings        layer.Layer
	Allowed, Asks bool
	// Given is what the project brought when droid was started. All says that nothing of it was
	// left out, and Revoked that the user has since taken back a yes to some of it.
	Given        layer.Layer
	All, Revoked bool
}

// Facts compares what a look has found with what a droid was started with. takes is the part of
// a layer that this droid does anything with.
func (p Project) Facts(given layer.Layer, all bool, takes func(layer.Layer) layer.Layer) Facts {
	f := Facts{Brings: takes(p.Layer), Allowed: p.free, Asks: p.Asks, Given: takes(given), All: all}
	f.Revoked = all && slices.ContainsFunc(f.Given.Items, func(i layer.Item) bool { return !slices.Contains(p.Granted, i.Sum()) })
	return f
}

// Next says what must happen before droid may have a prompt: it must have been started with
// exactly what the project brings now, and without it unless the user allows it now.
func (f Facts) Next() Step {
	switch {
	case f.Revoked:
		return Replace // first: the droid that runs still has what was revoked
	case f.Asks && len(f.Brings.Items) > 0:
		return Question
	case f.Stale():
		return Replace
	}
	return Send
}

// Stale reports whether droid was started with something else than a droid would be now.
func (f Facts) Stale() bool {
	return (len(f.Brings.Items) > 0 || len(f.Given.Items) > 0) && (f.All != f.Allowed || !layer.Same(&f.Brings, &f.Given))
}

// Adds reports whether the project brings something with which droid was not started.
func (f Facts) Adds() bool {
	return slices.ContainsFunc(f.Brings.Items, func(i layer.Item) bool {
		return !slices.ContainsFunc(f.Given.Items, func(given layer.Item) bool { return given.Sum() == i.Sum() })
	})
}
