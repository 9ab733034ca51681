package adapter

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// setMode is session/set_mode. It sets the config option for the mode, for clients
// that know modes but no options.
func (a *Agent) setMode(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string      `json:"sessionId"`
		ModeID    stream.Mode `json:"modeId"`
	}
	if err := problem.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	return a.askToSet(c, params.SessionID, options.Mode, string(params.ModeID), func(*Session) any { return struct{}{} })
}

// setConfigOption is session/set_config_option. Fields that this agent does not
// know are left alone, "type" among them (field notes acp.md, defect 12).
func (a *Agent) setConfigOption(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string          `json:"sessionId"`
		ConfigID  string          `json:"configId"`
		Value     json.RawMessage `json:"value"`
	}
	if err := problem.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if err := checkSessionID(params.SessionID); err != nil {
		return nil, err
	}
	value, err := optionValue(params.ConfigID, params.Value)
	if err != nil {
		return nil, err
	}
	return a.askToSet(c, params.SessionID, params.ConfigID, value, func(s *Session) any {
		list := s.options.ListUpdate()
		s.out.Told(list)
		return protocol.ConfigResult{ConfigOptions: list.ConfigOptions}
	})
}

// optionValue reads the value that an option is to have: "true" or "false" for a switch.
func optionValue(id string, raw json.RawMessage) (string, *acp.RequestError) {
	switched := string(raw) == "true" || string(raw) == "false"
	if id == options.AutoCompaction {
		if !switched {
			return "", problem.InvalidParams(`%s is on or off: value must be true or false, and type "boolean"`, id)
		}
		return string(raw), nil
	}
	var value string
	if switched || json.Unmarshal(raw, &value) != nil || value == "" {
		return "", problem.InvalidParams("value must be the id of one of the option's values, as a string")
	}
	return value, nil
}

// askToSet has a session's owner set an option in its turn. The request succeeds when
// droid reports the value asked for; its result is made in the owner.
func (a *Agent) askToSet(c *wire.Call, session, id, value string, result func(*Session) any) (any, *acp.RequestError) {
	s, place, err := a.reach(c, session)
	if err != nil {
		return nil, err
	}
	of := func() turns.Sphere { return sphereOf(s, id, value) }
	return askInTurn(s, c, place, of, func(done func(any, *acp.RequestError, error)) {
		s.setOption(id, value, func(err *acp.RequestError, why error) {
			if err != nil {
				done(nil, err, why)
				return
			}
			done(result(s), nil, nil)
		})
	})
}

// sphereOf says what a change of an option to this value is about. The mode decides what a turn may do from now
// on; the models and efforts which model answers a prompt.
func sphereOf(s *Session, id, value string) turns.Sphere {
	switch id {
	case options.Model, options.Effort, options.SpecModel, options.SpecEffort:
		return turns.Calls
	case options.Mode:
		if s.options.LosesNothing(stream.Mode(value)) && s.prompts.Changing() == 0 {
			return turns.Stricter
		}
	}
	return turns.Session
}

// tooFree is why the prompts that were sent behind a change of the mode are not to go to
// droid: the change failed, and the mode that stays asks less than the one that was wanted.
// It is nil when they may go.
func tooFree(stays stream.Mode, id, value string, why *acp.RequestError) error {
	if why == nil || id != options.Mode || stays.AsksAsMuchAs(stream.Mode(value)) {
		return nil
	}
	return problem.ModeNotSet(stream.Mode(value).Title(), stays.Title(), why)
}

// setOption changes one option, for the methods and the commands alike, and calls changed when droid has it, or
// with why not, and with why the prompts that were sent behind it must not go then.
func (s *Session) setOption(id, value string, changed func(err *acp.RequestError, behind error)) {
	done := func(err *acp.RequestError) { changed(err, tooFree(s.options.Mode(), id, value, err)) }
	if id == options.FollowUp {
		if !s.setFollowUp(value, func() { done(nil) }) {
			done(problem.InvalidParams("%v", options.UnknownValue(id, value, s.options.Option(id).Options)))
		}
		return
	}
	if id == options.AutoCompaction {
		if s.options.Option(id) == nil {
			done(problem.InvalidParams("unknown configId %q, or an option that this droid or this client does not have", id))
			return
		}
		s.setAutoCompaction(value == "true", done)
		return
	}
	s.updateSettings(func(v stream.Version) (patch stream.SettingsPatch) {
		patch, refused := s.options.Patch(v, id, value)
		switch {
		case refused != nil:
			done(problem.InvalidParams("%v", refused))
		case patch.IsZero():
			s.options.Chosen(id)
			done(nil)
		}
		return patch
	}, done, func(err error) { done(settled(&s.options, id, value, err)) })
}

// settled says whether droid did what it was asked: err is its answer to the request,
// and the settings are what it reported since.
func settled(o *options.State, id, value string, err error) *acp.RequestError {
	kind := strings.ReplaceAll(options.Name(id), " ", "_")
	if err != nil {
		return problem.NotSet(kind, options.Name(id), settingsTime, err)
	}
	if ignored := o.Ignored(id, value); ignored != "" {
		return problem.Internal(kind+"_ignored", ignored)
	}
	o.Chosen(id)
	return nil
}

// updateSettings has droid change settings and calls done in the owner when it has
// answered, or fail with why there is no droid. prepare says, when the turn of the call has
// come, what is to change; if that is nothing, it has done all there is to do.
func (s *Session) updateSettings(prepare func(stream.Version) stream.SettingsPatch, fail func(*acp.RequestError), done func(error)) {
	callDroid(s, 1, fail, func(client *droid.Client, _ *stream.SessionInfo) func(context.Context) error {
		patch := prepare(client.Version())
		if patch.IsZero() {
			return nil
		}
		return func(ctx context.Context) error { return changeSettings(ctx, client, patch) }
	}, func(_ *droid.Client, err error) {
		s.drainEvents() // settings_updated comes before the reply
		done(err)
	})
}

// changeSettings has droid change settings.
func changeSettings(ctx context.Context, client *droid.Client, patch stream.SettingsPatch) error {
	ctx, cancel := context.WithTimeout(ctx, settingsTime)
	defer cancel()
	return client.UpdateSettings(ctx, patch)
}

// settingsTime bounds how long droid may take to change its settings (2 to 20 ms
// were seen).
const settingsTime = 10 * time.Second

// setAutoCompaction switches automatic compaction and calls done when droid has done
// so, or with why not. droid keeps it with the session (0.215 and 0.225).
func (s *Session) setAutoCompaction(on bool, done func(*acp.RequestError)) {
	patch := func(stream.Version) stream.SettingsPatch { return stream.SettingsPatch{AutoCompaction: &on} }
	s.updateSettings(patch, done, func(err error) {
		got := s.options.Settings().AutoCompaction
		switch {
		case err != nil:
			done(problem.NotSet("auto_compaction", "automatic compaction", settingsTime, err))
		case got == nil || *got != on:
			done(problem.Internal("auto_compaction_ignored", "droid accepted the request but did not change automatic compaction."+s.proc.Lacks(stream.SwitchesAutoCompaction)))
		default:
			done(nil)
		}
	})
}

// methodSetModel is a method that ACP's schema no longer has. Clients that know models
// but no config options call it.
const methodSetModel = "session/set_model"

// setModel is session/set_model. It sets the config option for the model, so that a
// change by either method shows in the other.
func (a *Agent) setModel(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string `json:"sessionId"`
		ModelID   string `json:"modelId"`
	}
	if err := problem.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if err := checkSessionID(params.SessionID); err != nil {
		return nil, err
	}
	if params.ModelID == "" {
		return nil, problem.InvalidParams("modelId is missing")
	}
	return a.askToSet(c, params.SessionID, options.Model, params.ModelID, func(*Session) any { return struct{}{} })
}

// sessionResult is what the editor is told of the session when it is opened or loaded.
// The editor believes it from then on.
func (s *Session) sessionResult() protocol.SessionResult {
	s.out.Told(s.options.Updates()...)
	return protocol.SessionResult{Modes: s.options.Modes(), Models: s.options.SessionModels(), ConfigOptions: s.options.ListUpdate().ConfigOptions}
}

// checkDefaults notes for the user which defaults droid did not take. A droid that
// does not know the field in which it was first asked for the mode (before 0.99) is
// asked once more, in the field that it knows.
func (s *Session) checkDefaults() {
	if s.proc.Client() == nil {
		return
	}
	notices, again := s.options.Untaken(s.agent.cfg.Defaults, !s.proc.Has(stream.TakesAutonomyMode))
	s.out.Keep(notices...)
	if again == "" {
		return
	}
	s.Post(func() {
		s.inTurn(turns.Session, func(over func(error)) {
			s.setOption(options.Mode, string(again), func(err *acp.RequestError, _ error) {
				defer over(nil)
				if err != nil {
					s.out.Keep(options.IgnoredDefault("mode", again.Title(), s.options.Mode().Title()))
				}
			})
		})
	})
}
