package show

import (
	"slices"

	"droid-acp/internal/acp/protocol"
)

// Dialog is what the user is asked, one step after the other, and what comes of it. It
// has no part in the View that made it: whoever leads it may do so beside that. Whatever
// is no clear answer of the user's is a refusal.
type Dialog interface {
	// Next is what to ask the user now; false when the dialog is over.
	Next() (Step, bool)
	// Chose takes the id of the option that the user picked in a Choice, "" when they
	// picked none. It reports whether there is such an option.
	Chose(optionID string) (offered bool)
	// Filled takes what came of a Form: nil when it could not be shown.
	Filled(result *protocol.ElicitationResult)
}

// Step is one thing that the user is asked: a Choice or a Form. Neither has the id of
// the session in it yet.
type Step struct {
	Choice *protocol.PermissionParams
	Form   *protocol.ElicitationParams
}

// choice is a choice as this agent means it. The ids that the editor knows its options
// by may be others.
type choice struct {
	options []protocol.PermissionOption
	shown   []protocol.PermissionOption
}

// newChoice makes a choice for a client, which may show the names of options or not.
func newChoice(options []protocol.PermissionOption, names bool) choice {
	c := choice{options, options}
	if !names {
		c.shown = namedByKind(options)
	}
	return c
}

// picked is the id of the option that the editor knows by optionID, "" for none.
func (c choice) picked(optionID string) string {
	for i, o := range c.shown {
		if o.OptionID == optionID {
			return c.options[i].OptionID
		}
	}
	return ""
}

// namedByKind gives each option its kind for an id, where there is one of a kind: of
// the clients that act on the kind, avante knows these ids alone.
func namedByKind(options []protocol.PermissionOption) []protocol.PermissionOption {
	named := slices.Clone(options)
	for i, o := range options {
		if slices.ContainsFunc(named[:i], func(other protocol.PermissionOption) bool { return other.OptionID == string(o.Kind) }) {
			return options
		}
		named[i].OptionID = string(o.Kind)
	}
	return named
}
