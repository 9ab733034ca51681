package adapter

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
)

// modes are the modes for session/new, nil when droid does not tell its mode.
func (s *Session) modes() *protocol.SessionModes {
	current := s.settings.Mode()
	if current == "" {
		return nil
	}
	s.toldMode = current
	modes := &protocol.SessionModes{CurrentModeID: string(current)}
	for _, m := range s.settings.AvailableModes() {
		modes.AvailableModes = append(modes.AvailableModes, protocol.SessionMode{ID: string(m.Mode), Name: m.Name, Description: m.Description})
	}
	return modes
}

// tellMode reports the mode that droid is in, if the editor believes another.
func (s *Session) tellMode() {
	mode := s.settings.Mode()
	if !s.registered || mode == "" || mode == s.toldMode {
		return
	}
	s.toldMode = mode
	s.send(protocol.CurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeID: string(mode)})
}

// setMode is session/set_mode. It succeeds when droid reports the mode asked
// for, since droid takes some values without obeying them (quirk 14).
func (a *Agent) setMode(c call) (any, *acp.RequestError) {
	var params struct {
		SessionID string      `json:"sessionId"`
		ModeID    stream.Mode `json:"modeId"`
	}
	if err := decode(c.params, &params); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	result := promised[*acp.RequestError](s)
	if !s.post(func() { s.changeMode(params.ModeID, result) }) {
		return nil, unknownSession(params.SessionID)
	}
	c.ordered()
	refused, err := result.wait()
	if refused != nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// changeMode has droid change its mode and answers on result.
func (s *Session) changeMode(mode stream.Mode, result promise[*acp.RequestError]) {
	if !mode.Valid() {
		result.give(invalidParams("unknown modeId %q", mode))
		return
	}
	s.setOption(optionMode, string(mode), result.give)
}
