package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
)

// Ids of the config options.
const (
	optionMode       = "mode"
	optionModel      = "model"
	optionEffort     = "reasoning_effort"
	optionSpecModel  = "spec_model"
	optionSpecEffort = "spec_reasoning_effort"
	optionFollowUp   = "follow_up"
)

// Values of optionFollowUp: what becomes of a prompt that is sent while another
// one runs.
const (
	followUpQueue = "queue"
	followUpSteer = "steer"
)

// sameModel is the value of optionSpecModel while droid reports none: spec mode
// uses the session's model.
const sameModel = "same"

// offered returns the values that a user can choose of one option, nil when
// there is no such option now.
func (s *Session) offered(id string) []protocol.OptionValue {
	for _, o := range s.configOptions() {
		if o.ID == id {
			return o.Options
		}
	}
	return nil
}

// options are the config options for a response; the editor believes them from
// then on.
func (s *Session) options() []protocol.ConfigOption {
	options := s.configOptions()
	s.toldOptions, _ = json.Marshal(options) // strings always encode
	return options
}

// tellOptions reports the config options if the editor believes others.
func (s *Session) tellOptions() {
	if !s.registered {
		return
	}
	told := s.toldOptions
	options := s.options()
	if len(options) > 0 && !bytes.Equal(told, s.toldOptions) {
		s.send(protocol.ConfigOptionUpdate{SessionUpdate: "config_option_update", ConfigOptions: options})
	}
}

// configOptions are all options of the session, with the values that droid has
// in this version. What droid does not report is not offered.
func (s *Session) configOptions() []protocol.ConfigOption {
	var out []protocol.ConfigOption
	add := func(o protocol.ConfigOption) {
		if len(o.Options) == 0 {
			return
		}
		o.Type = "select"
		// ACP wants the current value among the values, also where droid took one
		// that it does not offer.
		if !slices.ContainsFunc(o.Options, func(v protocol.OptionValue) bool { return v.Value == o.CurrentValue }) {
			o.Options = append([]protocol.OptionValue{{Value: o.CurrentValue, Name: o.CurrentValue, Description: notOffered}}, o.Options...)
		}
		out = append(out, o)
	}
	if mode := s.settings.Mode(); mode != "" {
		o := protocol.ConfigOption{ID: optionMode, Name: "Mode", Category: "mode", Description: "How much droid may do without asking", CurrentValue: string(mode)}
		for _, m := range availableModes(s.settings) {
			o.Options = append(o.Options, protocol.OptionValue{Value: string(m.Mode), Name: m.Name, Description: m.Description})
		}
		add(o)
	}
	if model := s.settings.ModelID; model != nil {
		add(protocol.ConfigOption{ID: optionModel, Name: "Model", Category: "model", CurrentValue: *model, Options: s.modelValues()})
	}
	if effort := s.settings.ReasoningEffort; effort != nil {
		add(protocol.ConfigOption{ID: optionEffort, Name: "Reasoning effort", Category: "thought_level",
			Description: "How much the model thinks before it answers", CurrentValue: *effort, Options: named("Effort: ", s.effortValues(s.settings.ModelID))})
	}
	s.addSpecOptions(add)
	add(protocol.ConfigOption{ID: optionFollowUp, Name: "Follow-up", Description: "What happens to a prompt that is sent while another one runs",
		CurrentValue: s.followUpMode(), Options: []protocol.OptionValue{
			{Value: followUpQueue, Name: "Follow-ups: queue", Description: "It runs when the running one has ended"},
			{Value: followUpSteer, Name: "Follow-ups: steer", Description: "droid takes it into the running turn after the tool that runs; while the model only writes text, it runs next"},
		}})
	return out
}

// addSpecOptions adds model and effort of spec mode, which droid has since 0.99.
func (s *Session) addSpecOptions(add func(protocol.ConfigOption)) {
	if s.settings.AutonomyMode == nil || len(s.models) == 0 {
		return
	}
	o := protocol.ConfigOption{ID: optionSpecModel, Name: "Spec mode model", Description: "The model that makes the plan in spec mode", CurrentValue: sameModel,
		Options: append([]protocol.OptionValue{{Value: sameModel, Name: "Spec: same model", Description: "The session's model"}}, named("Spec: ", s.modelValues())...)}
	model := s.settings.SpecModeModelID
	if model != nil {
		o.CurrentValue = *model
	}
	add(o)
	if effort := s.settings.SpecModeReasoningEffort; model != nil && effort != nil {
		add(protocol.ConfigOption{ID: optionSpecEffort, Name: "Spec mode effort", CurrentValue: *effort, Options: named("Spec effort: ", s.effortValues(model))})
	}
}

// model finds a model that droid offers.
func (s *Session) model(id *string) *stream.Model {
	if id == nil {
		return nil
	}
	for i := range s.models {
		if s.models[i].ID == *id {
			return &s.models[i]
		}
	}
	return nil
}

func (s *Session) followUpMode() string {
	if s.followUp == "" {
		return followUpQueue
	}
	return s.followUp
}

// setConfigOption is session/set_config_option. Like set_mode it succeeds when
// droid reports the value asked for. Fields that this agent does not know are
// left alone, "type" among them (field notes acp.md, defect 12).
func (a *Agent) setConfigOption(c call) (any, *acp.RequestError) {
	var params struct {
		SessionID string          `json:"sessionId"`
		ConfigID  string          `json:"configId"`
		Value     json.RawMessage `json:"value"`
	}
	if err := decode(c.params, &params); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	var value string
	if json.Unmarshal(params.Value, &value) != nil || value == "" {
		return nil, invalidParams("value must be the id of one of the option's values, as a string")
	}
	type outcome struct {
		options []protocol.ConfigOption
		err     *acp.RequestError
	}
	done := promised[outcome](s)
	posted := s.post(func() {
		s.setOption(params.ConfigID, value, func(err *acp.RequestError) {
			if err != nil {
				done.give(outcome{err: err}) // not s.options: the session may have ended
				return
			}
			done.give(outcome{options: s.options()})
		})
	})
	c.ordered()
	if !posted {
		return nil, unknownSession(params.SessionID)
	}
	out, err := done.wait()
	if err == nil {
		err = out.err
	}
	if err != nil {
		return nil, err
	}
	return protocol.ConfigResult{ConfigOptions: out.options}, nil
}

// setOption changes one option and calls done when droid has it, or with why
// not.
func (s *Session) setOption(id, value string, done func(*acp.RequestError)) {
	if id == optionFollowUp {
		if value != followUpQueue && value != followUpSteer {
			done(unknownValue(id, value, s.offered(id)))
			return
		}
		s.followUp = value
		s.tellOptions()
		s.steer()
		done(nil)
		return
	}
	s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			done(err)
			return
		}
		if s.isOnlyCurrent(id, value) {
			done(nil)
			return
		}
		patch, read, err := s.patchFor(id, value)
		if err != nil {
			done(err)
			return
		}
		s.updateSettings(patch, func(err error) { done(s.settled(id, value, read, err)) })
	})
}

// isOnlyCurrent reports whether a value is there because it is the current one, and
// not for choosing: droid has it already, and might not take it once more.
func (s *Session) isOnlyCurrent(id, value string) bool {
	for _, o := range s.configOptions() {
		if o.ID == id && o.CurrentValue == value {
			return slices.ContainsFunc(o.Options, func(v protocol.OptionValue) bool { return v.Value == value && v.Description == notOffered })
		}
	}
	return false
}

// notOffered describes a current value that droid does not offer.
const notOffered = "Not among what droid offers"

// patchFor is the change of settings that sets an option, and how to read back
// what droid made of it. Values that are not offered are refused here: droid
// takes any model id and changes efforts silently (0.99 to 0.225).
func (s *Session) patchFor(id, value string) (stream.SettingsPatch, func() *string, *acp.RequestError) {
	var patch stream.SettingsPatch
	if values := s.offered(id); values == nil {
		return patch, nil, invalidParams("unknown configId %q, or an option that the model in use does not have", id)
	} else if m := s.model(&value); m != nil && m.Disabled && (id == optionModel || id == optionSpecModel) {
		return patch, nil, invalidParams("the model %q is disabled in droid", value)
	} else if !slices.ContainsFunc(values, func(v protocol.OptionValue) bool { return v.Value == value }) {
		return patch, nil, unknownValue(id, value, values)
	}
	switch id {
	case optionMode:
		return stream.ModeSettings(s.proc.client().Version(), stream.Mode(value)), func() *string { m := string(s.settings.Mode()); return &m }, nil
	case optionModel:
		patch.ModelID = &value
		// 0.99 keeps an effort that the new model does not support.
		if m := s.model(&value); m != nil && s.settings.ReasoningEffort != nil && m.DefaultReasoningEffort != "" &&
			!slices.Contains(m.SupportedReasoningEfforts, *s.settings.ReasoningEffort) {
			patch.ReasoningEffort = &m.DefaultReasoningEffort
		}
		return patch, func() *string { return s.settings.ModelID }, nil
	case optionEffort:
		patch.ReasoningEffort = &value
		return patch, func() *string { return s.settings.ReasoningEffort }, nil
	case optionSpecModel:
		if value == sameModel {
			patch.NoSpecModeModel = true
			return patch, s.specModel, nil
		}
		patch.SpecModeModelID = &value
		// Without an effort of its own droid takes "high", whatever the model supports.
		if m := s.model(&value); m != nil && m.DefaultReasoningEffort != "" {
			patch.SpecModeReasoningEffort = &m.DefaultReasoningEffort
		}
		return patch, s.specModel, nil
	default:
		patch.SpecModeModelID = s.settings.SpecModeModelID // without it 0.99 and 0.117 ignore the effort
		patch.SpecModeReasoningEffort = &value
		return patch, func() *string { return s.settings.SpecModeReasoningEffort }, nil
	}
}

// specModel is the value of optionSpecModel.
func (s *Session) specModel() *string {
	if model := s.settings.SpecModeModelID; model != nil {
		return model
	}
	same := sameModel
	return &same
}

func unknownValue(id, value string, values []protocol.OptionValue) *acp.RequestError {
	var names []string
	for _, v := range values {
		names = append(names, v.Value)
	}
	const most = 40
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return invalidParams("%q is no value of %s; the values are %s", value, id, strings.Join(names, ", "))
}

// updateSettings has droid change settings and calls done in the owner when it
// has answered.
func (s *Session) updateSettings(patch stream.SettingsPatch, done func(error)) {
	s.alone(func(end func()) {
		client := s.proc.client()
		if client == nil {
			done(errDroidGone)
			end()
			return
		}
		s.do(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, settingsTime)
			defer cancel()
			err := client.UpdateSettings(ctx, patch)
			if !s.post(func() {
				defer end()
				s.drainEvents() // settings_updated comes before the reply
				done(err)
			}) {
				done(errSessionEnded)
			}
		}, end)
	})
}

// errDroidGone is why a change of settings that had to wait failed.
var errDroidGone = errors.New("droid has ended meanwhile")

// settingsTime bounds how long droid may take to change its settings (2 to 20 ms
// were seen).
const settingsTime = 10 * time.Second

// settled compares what droid did with what was asked.
func (s *Session) settled(id, value string, read func() *string, err error) *acp.RequestError {
	what := map[string]string{optionMode: "mode", optionModel: "model", optionEffort: "reasoning effort",
		optionSpecModel: "spec mode model", optionSpecEffort: "spec mode effort"}[id]
	kind := strings.ReplaceAll(what, " ", "_")
	if err == errSessionEnded {
		return errEnding()
	}
	if err != nil {
		return internalError(kind+"_refused", "droid did not change its "+what+": "+err.Error())
	}
	got := read()
	if got == nil {
		return internalError(kind+"_ignored", "droid took the request and does not tell its "+what)
	}
	if *got != value {
		return internalError(kind+"_ignored", "droid took the request but its "+what+" is "+strconv.Quote(*got))
	}
	return nil
}
