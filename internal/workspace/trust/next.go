package trust

import (
	"slices"

	"droid-acp/internal/droid/projectconfig"
)

// Step is the next step before a prompt is sent to droid.
type Step int

// After all but StepSend, another look decides again.
const (
	StepSend    Step = iota // the prompt may be sent
	StepAsk                 // the user must be asked whether the project may run what it brings
	StepDecline             // the project counts as declined, as the user cannot be asked
	StepReplace             // a new droid must be started, with what the project brings now
	StepRefresh             // a new droid must be started, which knows the project's commands and skills as they are now
)

// Facts are the basis of Next.
type Facts struct {
	// present is the result of the latest look, as far as this droid uses it. Allowed means that the user has allowed all of it, and asks
	// that they must be asked.
	present       projectconfig.Layer
	Allowed, asks bool
	// started describes the project at droid's start. All means that nothing of it was left out, and revoked that the user has since
	// revoked a yes to some of it.
	started      projectconfig.Layer
	All, revoked bool
	// CanAsk means that the user can be asked about all of it.
	CanAsk bool
	// MissesTexts means that this droid does not know a command or a skill as it is now, Rests that nothing would be lost with this droid, and
	// Replaced that it was started for the prompt.
	MissesTexts, Rests, Replaced bool
}

// Facts compares the result of a look with what droid was started with. takes returns the part of a layer that this droid uses.
func (p Project) Facts(given projectconfig.Layer, all bool, takes func(projectconfig.Layer) projectconfig.Layer) Facts {
	f := Facts{present: takes(p.Layer), Allowed: p.free, asks: p.Asks, started: takes(given), All: all}
	has := f.started.Items
	if !all {
		has = projectconfig.Layer{Items: has}.Inseparable() // the others were left out
	}
	f.revoked = slices.ContainsFunc(has, func(i projectconfig.Item) bool { return !slices.Contains(p.Granted, i.Sum()) })
	return f
}

// Next returns what must happen before a prompt is sent to droid: droid must have been started with exactly what the project brings now,
// and without it unless the user has allowed it.
func (f Facts) Next() Step {
	switch {
	case f.revoked:
		return StepReplace // first, as the running droid still has what was revoked
	case f.asks && len(f.present.Items) > 0 && f.CanAsk:
		return StepAsk
	case f.asks && len(f.present.Items) > 0:
		return StepDecline
	case f.Stale():
		return StepReplace
	case f.MissesTexts && f.Rests && !f.Replaced:
		return StepRefresh
	}
	return StepSend
}

// Revoked reports whether droid has something that the user has since taken back.
func (f Facts) Revoked() bool { return f.revoked }

// Stale reports whether droid was started with anything else than a new droid would be.
func (f Facts) Stale() bool {
	return (len(f.present.Items) > 0 || len(f.started.Items) > 0) && (f.All != f.Allowed || !projectconfig.Same(&f.present, &f.started))
}

// MustEnd reports whether droid must be ended before a request that may make it read the project again. If the project brings nothing that is
// new to droid, a droid with which something would be lost need not be.
func (f Facts) MustEnd() bool { return f.Adds() || f.Stale() && f.Rests }

// Adds reports whether the project brings something that droid was not started with.
func (f Facts) Adds() bool {
	return slices.ContainsFunc(f.present.Items, func(i projectconfig.Item) bool {
		return !slices.ContainsFunc(f.started.Items, func(given projectconfig.Item) bool { return given.Sum() == i.Sum() })
	})
}
