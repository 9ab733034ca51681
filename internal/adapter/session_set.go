package adapter

import (
	"encoding/json"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// setMode is session/set_mode. It sets the config option for the mode, for clients
// that know modes but no options.
func (a *Agent) setMode(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		ModeID stream.Mode `json:"modeId"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	return a.askToSet(c, options.Mode, string(params.ModeID))
}

// setConfigOption is session/set_config_option. Fields that this agent does not
// know are left alone, "type" among them.
func (a *Agent) setConfigOption(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		ConfigID string          `json:"configId"`
		Value    json.RawMessage `json:"value"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	value, err := optionValue(params.ConfigID, params.Value)
	if err != nil {
		return nil, err
	}
	return a.askToSet(c, params.ConfigID, value)
}

// optionValue reads the value that an option is to have: "true" or "false" for a switch.
func optionValue(id string, raw json.RawMessage) (string, *jsonrpc.Error) {
	switched := string(raw) == "true" || string(raw) == "false"
	if options.Find(id).Switch {
		if !switched {
			return "", acperr.InvalidParams(`%s is on or off: value must be true or false, and type "boolean"`, id)
		}
		return string(raw), nil
	}
	var value string
	if switched || json.Unmarshal(raw, &value) != nil || value == "" {
		return "", acperr.InvalidParams("value must be the id of one of the option's values, as a string")
	}
	return value, nil
}

// methodSetModel is a method that ACP's schema no longer has. Clients that know models
// but no config options call it.
const methodSetModel = "session/set_model"

// setModel is session/set_model. It sets the config option for the model, so that a
// change by either method shows in the other.
func (a *Agent) setModel(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		ModelID string `json:"modelId"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if params.ModelID == "" {
		return nil, acperr.InvalidParams("modelId is missing")
	}
	return a.askToSet(c, options.Model, params.ModelID)
}

// askToSet sets an option of the session that a call names.
func (a *Agent) askToSet(c *wire.Call, id, value string) (any, *jsonrpc.Error) {
	s, ticket, err := a.lookup(c)
	if err != nil {
		return nil, err
	}
	return s.ChangeOption(c, ticket.Release, id, value)
}
