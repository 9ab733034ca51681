package render

import (
	"slices"

	"droid-acp/internal/acp/protocol"
)

// Dialog is a sequence of questions to the user and its outcome. It is independent of the View that created it and may be conducted
// concurrently. Anything but a clear answer is a refusal.
type Dialog interface {
	// Next returns the next question; false when the dialog is over.
	Next() (Step, bool)
	// OptionChosen receives the ID of the option chosen in a Choice, "" for none. It reports whether that option exists.
	OptionChosen(optionID string) (offered bool)
	// FormFilled receives the result of a Form: nil if it could not be shown.
	FormFilled(result *protocol.ElicitationResult)
}

// Step is one question to the user: a Choice or a Form. The caller sets the session ID.
type Step struct {
	Choice *protocol.PermissionParams
	Form   *protocol.ElicitationParams
}

// optionChoice is a set of options. Clients may know them by other IDs.
type optionChoice struct {
	options []protocol.PermissionOption
	shown   []protocol.PermissionOption
}

// newChoice creates a choice. names reports whether the client shows the names of options.
func newChoice(options []protocol.PermissionOption, names bool) optionChoice {
	c := optionChoice{options, options}
	if !names {
		c.shown = namedByKind(options)
	}
	return c
}

// picked returns our ID for the option that the client knows by optionID, or "".
func (c optionChoice) picked(optionID string) string {
	for i, o := range c.shown {
		if o.OptionID == optionID {
			return c.options[i].OptionID
		}
	}
	return ""
}

// namedByKind uses kinds as IDs if they are unique: among clients that act on kinds, avante knows only these IDs.
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
