package adapter

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/options"
	"droid-acp/internal/protocol"
	"droid-acp/internal/wire"
)

// setMode is session/set_mode. It sets the config option for the mode, for clients
// that know modes but no options.
func (a *Agent) setMode(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string      `json:"sessionId"`
		ModeID    stream.Mode `json:"modeId"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	return s.askToSet(c, options.Mode, string(params.ModeID), func() any { return struct{}{} })
}

// setConfigOption is session/set_config_option. Fields that this agent does not
// know are left alone, "type" among them (field notes acp.md, defect 12).
func (a *Agent) setConfigOption(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string          `json:"sessionId"`
		ConfigID  string          `json:"configId"`
		Value     json.RawMessage `json:"value"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	value, err := optionValue(params.ConfigID, params.Value)
	if err != nil {
		return nil, err
	}
	return s.askToSet(c, params.ConfigID, value, func() any { return protocol.ConfigResult{ConfigOptions: s.options.TellList()} })
}

// optionValue reads the value that an option is to have: "true" or "false" for a switch.
func optionValue(id string, raw json.RawMessage) (string, *acp.RequestError) {
	switched := string(raw) == "true" || string(raw) == "false"
	if id == options.AutoCompaction {
		if !switched {
			return "", invalidParams(`%s is on or off: value must be true or false, and type "boolean"`, id)
		}
		return string(raw), nil
	}
	var value string
	if switched || json.Unmarshal(raw, &value) != nil || value == "" {
		return "", invalidParams("value must be the id of one of the option's values, as a string")
	}
	return value, nil
}

// askToSet has the owner set an option. The request succeeds when droid reports the
// value asked for; its result is made in the owner.
func (s *Session) askToSet(c *wire.Call, id, value string, result func() any) (any, *acp.RequestError) {
	return askOwner(s.owner, inquiry[any]{ordered: c.Ordered, work: func(answer func(any, *acp.RequestError)) {
		s.setOption(id, value, func(err *acp.RequestError) {
			if err != nil {
				answer(nil, err)
				return
			}
			answer(result(), nil)
		})
	}})
}

// setOption changes one option and calls done when droid has it, or with why
// not.
func (s *Session) setOption(id, value string, done func(*acp.RequestError)) {
	if id == options.FollowUp {
		if !s.options.SetFollowUp(value) {
			done(invalidParams("%v", options.UnknownValue(id, value, s.options.Option(id).Options)))
			return
		}
		s.tellOptions()
		s.carryOut(s.prompts.machine.SetSteering(s.options.Steers()))
		done(nil)
		return
	}
	if id == options.AutoCompaction {
		s.setSwitch(value == "true", done)
		return
	}
	s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			done(err)
			return
		}
		patch, refused := s.options.Patch(s.proc.client().Version(), id, value)
		switch {
		case refused != nil:
			done(invalidParams("%v", refused))
		case patch.IsZero():
			done(nil)
		default:
			s.updateSettings(patch, func(err error) { done(s.settled(id, value, err)) })
		}
	})
}

// settled says whether droid did what it was asked: err is its answer to the request,
// and the settings are what it reported since.
func (s *Session) settled(id, value string, err error) *acp.RequestError {
	kind := strings.ReplaceAll(options.Name(id), " ", "_")
	if err != nil {
		return settingError(kind, options.Name(id), err)
	}
	if ignored := s.options.Ignored(id, value); ignored != "" {
		return internalError(kind+"_ignored", ignored)
	}
	return nil
}

// tellOptions reports mode and options if the editor was told others, or none.
func (s *Session) tellOptions() {
	if !s.registered {
		return
	}
	for _, update := range s.options.News() {
		s.send(update)
	}
}

// updateSettings has droid change settings and calls done in the owner when it
// has answered.
func (s *Session) updateSettings(patch stream.SettingsPatch, done func(error)) {
	callAlone(s, func(client *droid.Client) func(context.Context) (struct{}, error) {
		return func(ctx context.Context) (struct{}, error) {
			ctx, cancel := context.WithTimeout(ctx, settingsTime)
			defer cancel()
			return struct{}{}, client.UpdateSettings(ctx, patch)
		}
	}, func(_ *droid.Client, _ struct{}, err error) {
		s.drainEvents() // settings_updated comes before the reply
		done(err)
	})
}

// settingsTime bounds how long droid may take to change its settings (2 to 20 ms
// were seen).
const settingsTime = 10 * time.Second
