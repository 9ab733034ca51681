package trust

import (
	"slices"

	"droid-acp/internal/droid/layer"
)

// Step is what must happen before a prompt is sent to droid.
type Step int

// After Question and Replace, another look decides again.
const (
	Send     Step = iota // the prompt may be sent
	Question             // the user must be asked whether the project may run what it brings
	Replace              // a new droid must be started, with what the project brings now
)

// Facts are the basis of Next.
type Facts struct {
	// Brings is the result of the latest look, as far as this droid uses it. Allowed means that the user has allowed all of it, and Asks
	// that they must be asked.
	Brings        layer.Layer
	Allowed, Asks bool
	// Given is what the project brought when droid was started. All means that nothing of it was left out, and Revoked that the user has
	// since revoked a yes to some of it.
	Given        layer.Layer
	All, Revoked bool
}

// Facts compares the result of a look with what droid was started with. takes returns the part of a layer that this droid uses.
func (p Project) Facts(given layer.Layer, all bool, takes func(layer.Layer) layer.Layer) Facts {
	f := Facts{Brings: takes(p.Layer), Allowed: p.free, Asks: p.Asks, Given: takes(given), All: all}
	f.Revoked = all && slices.ContainsFunc(f.Given.Items, func(i layer.Item) bool { return !slices.Contains(p.Granted, i.Sum()) })
	return f
}

// Next returns what must happen before a prompt is sent to droid: droid must have been started with exactly what the project brings now,
// and without it unless the user has allowed it.
func (f Facts) Next() Step {
	switch {
	case f.Revoked:
		return Replace // first, as the running droid still has what was revoked
	case f.Asks && len(f.Brings.Items) > 0:
		return Question
	case f.Stale():
		return Replace
	}
	return Send
}

// Stale reports whether droid was started with anything else than a new droid would be.
func (f Facts) Stale() bool {
	return (len(f.Brings.Items) > 0 || len(f.Given.Items) > 0) && (f.All != f.Allowed || !layer.Same(&f.Brings, &f.Given))
}

// Adds reports whether the project brings something that droid was not started with.
func (f Facts) Adds() bool {
	return slices.ContainsFunc(f.Brings.Items, func(i layer.Item) bool {
		return !slices.ContainsFunc(f.Given.Items, func(given layer.Item) bool { return given.Sum() == i.Sum() })
	})
}
