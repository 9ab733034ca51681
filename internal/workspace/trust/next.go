package trust

import (
	"slices"

	"droid-acp/internal/droid/projectconfig"
)

// Step is what must happen before a prompt is sent to droid.
type Step int

// After StepAsk and StepReplace, another look decides again.
const (
	StepSend    Step = iota // the prompt may be sent
	StepAsk                 // the user must be asked whether the project may run what it brings
	StepReplace             // a new droid must be started, with what the project brings now
)

// Facts are the basis of Next.
type Facts struct {
	// present is the result of the latest look, as far as this droid uses it. Allowed means that the user has allowed all of it, and asks
	// that they must be asked.
	present       projectconfig.Layer
	Allowed, asks bool
	// started is what the project brought when droid was started. All means that nothing of it was left out, and revoked that the user has
	// since revoked a yes to some of it.
	started      projectconfig.Layer
	All, revoked bool
}

// Facts compares the result of a look with what droid was started with. takes returns the part of a layer that this droid uses.
func (p Project) Facts(given projectconfig.Layer, all bool, takes func(projectconfig.Layer) projectconfig.Layer) Facts {
	f := Facts{present: takes(p.Layer), Allowed: p.free, asks: p.Asks, started: takes(given), All: all}
	f.revoked = all && slices.ContainsFunc(f.started.Items, func(i projectconfig.Item) bool { return !slices.Contains(p.Granted, i.Sum()) })
	return f
}

// Next returns what must happen before a prompt is sent to droid: droid must have been started with exactly what the project brings now,
// and without it unless the user has allowed it.
func (f Facts) Next() Step {
	switch {
	case f.revoked:
		return StepReplace // first, as the running droid still has what was revoked
	case f.asks && len(f.present.Items) > 0:
		return StepAsk
	case f.Stale():
		return StepReplace
	}
	return StepSend
}

// Stale reports whether droid was started with anything else than a new droid would be.
func (f Facts) Stale() bool {
	return (len(f.present.Items) > 0 || len(f.started.Items) > 0) && (f.All != f.Allowed || !projectconfig.Same(&f.present, &f.started))
}

// Adds reports whether the project brings something that droid was not started with.
func (f Facts) Adds() bool {
	return slices.ContainsFunc(f.present.Items, func(i projectconfig.Item) bool {
		return !slices.ContainsFunc(f.started.Items, func(given projectconfig.Item) bool { return given.Sum() == i.Sum() })
	})
}
