// Package options implements the config options of a session: which there are, with which values, what droid must be asked to set one, and
// whether it did. It is pure: the session asks droid and informs the editor.
package options

import (
	"cmp"
	"fmt"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

// Values of FollowUp: what becomes of a prompt that is sent while another
// one runs.
const (
	Queue = "queue"
	Steer = "steer"
)

// sameModel is the value of SpecModel while droid reports none: spec mode
// uses the session's model.
const sameModel = "same"

// State is the settings of a session as droid reports them. Its fields are written in this file alone.
type State struct {
	settings stream.Settings // as droid reported them last
	models   []stream.Model  // that droid offers
	// loggedOut is set if droid is known to have no login.
	loggedOut bool
	followUp  string      // Queue or Steer; droid knows nothing of it
	switches  bool        // the editor knows options that are switches
	narrow    bool        // it has little room for options
	owed      stream.Mode // that droid has not reported since it was to load the session, see Owed; "" for none
}

// New returns the state of a session of which droid has reported nothing yet. followUp
// is "" for the default, switches whether the editor knows options that are switches, and narrow
// whether it has little room for options.
func New(followUp string, switches, narrow bool) State {
	if followUp == "" {
		followUp = Queue
	}
	return State{followUp: followUp, switches: switches, narrow: narrow}
}

// Settings returns the settings as droid reported them last.
func (o *State) Settings() stream.Settings { return o.settings }

// Models returns the models that droid offers.
func (o *State) Models() []stream.Model { return o.models }

// FollowUp returns the value of FollowUp.
func (o *State) FollowUp() string { return o.followUp }

// Reported takes the settings that droid reports.
func (o *State) Reported(settings stream.Settings) {
	o.settings = settings
	o.Loaded()
}

// Before is the state of a session before droid loads it again.
type Before struct {
	settings stream.Settings
	mode     stream.Mode // that it is to have, "" for none: not what droid had, where that asked less
}

// Loading returns the state that the session must have after the load that begins. Its mode is owed from now on, since droid may report
// another one and end at any time.
func (o *State) Loading() Before {
	o.owed = cmp.Or(o.owed, o.settings.Mode())
	return Before{o.settings, o.owed}
}

// LoadingAgain says that the droid which loaded the session died: its mode from before the load is owed again.
func (o *State) LoadingAgain(before Before) { o.owed = cmp.Or(o.owed, before.mode) }

// Loaded ends that a mode is owed, if droid has reported that mode or one that asks for more.
func (o *State) Loaded() {
	if o.owed != "" && o.Mode().AsksAsMuchAs(o.owed) {
		o.owed = ""
	}
}

// Owed returns the mode that a session had before a load, as long as droid has not taken
// it back and may be in one that asks less; "" where all is well. No prompt may go to droid
// until it has that mode, or the user has chosen another one. Loading and LoadingAgain set it, Reported and Chosen clear it.
func (o *State) Owed() stream.Mode { return o.owed }

// LosesNothing reports whether a mode asks for all that the session's asks for, and the one that is owed.
func (o *State) LosesNothing(mode stream.Mode) bool {
	return mode.Valid() && mode.AsksAsMuchAs(o.Mode()) && (o.owed == "" || mode.AsksAsMuchAs(o.owed))
}

// Chosen notes that the session has the value of an option that the user wants.
func (o *State) Chosen(id string) {
	if id == Mode {
		o.owed = ""
	}
}

// Offered takes the models that droid offers. An empty list changes nothing.
func (o *State) Offered(models []stream.Model) {
	if len(models) > 0 {
		o.models = models
	}
}

// SetLoggedOut says whether droid is known to have no login, which all models but the user's own need.
func (o *State) SetLoggedOut(out bool) { o.loggedOut = out }

// SetFollowUp sets FollowUp. It reports false for what is no value of it.
func (o *State) SetFollowUp(value string) bool {
	if value != Queue && value != Steer {
		return false
	}
	o.followUp = value
	return true
}

// Steers reports whether a prompt goes to droid while another one runs.
func (o *State) Steers() bool { return o.followUp == Steer }

// Mode returns the session's mode, "" while droid does not report it.
func (o *State) Mode() stream.Mode { return o.settings.Mode() }

// Updates returns updates with the mode, if droid reports it, and the options.
func (o *State) Updates() (updates []protocol.Update) {
	if mode := o.Mode(); mode != "" {
		updates = append(updates, protocol.CurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeID: string(mode)})
	}
	return append(updates, o.ListUpdate())
}

// ListUpdate returns the update with the options.
func (o *State) ListUpdate() protocol.ConfigOptionUpdate {
	return protocol.ConfigOptionUpdate{SessionUpdate: "config_option_update", ConfigOptions: o.offered()}
}

// Modes returns the modes for session/new, nil if droid does not report its mode.
func (o *State) Modes() *protocol.SessionModes {
	current := o.Mode()
	if current == "" {
		return nil
	}
	modes := &protocol.SessionModes{CurrentModeID: string(current)}
	for _, v := range o.modeValues() {
		modes.AvailableModes = append(modes.AvailableModes, protocol.SessionMode{ID: v.Value, Name: v.Name, Description: v.Description})
	}
	return modes
}

// notOffered describes a current value that droid does not offer.
const notOffered = "droid does not offer this value"

// offered returns the options for the editor. If it shows few, those that slash commands can set too are left out until they have been
// changed.
func (o *State) offered() []protocol.ConfigOption {
	offered := []protocol.ConfigOption{} // a list, also where it is empty
	for _, option := range o.list() {
		unchanged := option.ID == SpecModel && option.CurrentValue == sameModel || option.ID == FollowUp && option.CurrentValue == Queue
		if !o.narrow || !unchanged {
			offered = append(offered, option)
		}
	}
	return offered
}

// list returns all options of the session, with the values that droid has in this
// version. What droid does not report is not offered.
func (o *State) list() (list []protocol.ConfigOption) {
	for _, s := range settings {
		value, option := s.value(o), s.option(o)
		if value == nil || len(option.Options) == 0 && option.On == nil {
			continue
		}
		option.ID = s.ID
		if option.On == nil {
			option.Type, option.CurrentValue = "select", *value
		}
		// ACP wants the current value among the values, also where droid took one
		// that it does not offer.
		if option.On == nil && find(option.Options, *value) == nil {
			current := protocol.OptionValue{Value: *value, Name: protocol.Line(*value), Description: notOffered}
			option.Options = append([]protocol.OptionValue{current}, option.Options...)
		}
		list = append(list, option)
	}
	return list
}

// find returns the value of this id, nil for none.
func find(values []protocol.OptionValue, value string) *protocol.OptionValue {
	for i := range values {
		if values[i].Value == value {
			return &values[i]
		}
	}
	return nil
}

// Option is one option as list has it, nil when there is no such option now.
func (o *State) Option(id string) *protocol.ConfigOption {
	for _, option := range o.list() {
		if option.ID == id {
			return &option
		}
	}
	return nil
}

// Titled returns an option with the title of a value, as menus have both.
func (o *State) Titled(id, value string) string {
	option := o.Option(id)
	if option == nil {
		return value
	}
	title := protocol.Line(value)
	for _, v := range option.Options {
		if v.Value == value {
			title = v.Name
		}
	}
	if strings.Contains(string(title), ": ") { // it names the option
		return string(title)
	}
	return string(option.Name + ": " + title)
}

// Describe shows the values of an option, which the slash command chooses from.
func (o *State) Describe(id, command string) string {
	option := o.Option(id)
	switch {
	case option == nil && id == Effort:
		return "This model has no reasoning effort to choose."
	case option == nil:
		return "There is nothing to choose here now."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Choose one with `/%s NAME`:\n", o.Titled(id, option.CurrentValue), command)
	for _, v := range option.Options {
		fmt.Fprintf(&b, "- `%s`: %s\n", v.Value, v.Name)
	}
	return b.String()
}

// BlindModel returns the name of the model in use if it cannot see images, and "" otherwise. droid would inform the model, but not the
// user, that an image is missing.
func (o *State) BlindModel() string {
	switch m := o.model(o.inUse()); {
	case m == nil || !m.NoImageSupport:
		return ""
	case m.DisplayName != "":
		return m.DisplayName
	default:
		return m.ID
	}
}

// ModelInUse returns the id of the model for the current mode, "" if droid has not reported one.
func (o *State) ModelInUse() string { return OrEmpty(o.inUse()) }

func (o *State) inUse() *string {
	if spec := o.settings.SpecModeModelID; spec != nil && *spec != "" && o.Mode() == stream.ModeSpec {
		return spec
	}
	return o.settings.ModelID
}

// model finds a model that droid offers, nil where there is none of this id.
func (o *State) model(id *string) *stream.Model {
	if id == nil {
		return nil
	}
	for i := range o.models {
		if o.models[i].ID == *id {
			return &o.models[i]
		}
	}
	return nil
}
