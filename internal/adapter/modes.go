package adapter

import (
	"context"
	"strconv"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
)

// modes are the modes for session/new, nil when droid does not tell its mode.
func (s *Session) modes() *sessionModes {
	current := s.settings.Mode()
	if current == "" {
		return nil
	}
	s.toldMode = current
	modes := &sessionModes{CurrentModeID: string(current)}
	for _, m := range droid.Modes() {
		modes.AvailableModes = append(modes.AvailableModes, sessionMode{ID: string(m.Mode), Name: m.Name, Description: m.Description})
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
	s.send(currentModeUpdate{"current_mode_update", string(mode)})
}

// setModeTime bounds how long droid may take to change its mode (2 to 20 ms were
// seen).
const setModeTime = 10 * time.Second

// setMode is session/set_mode. It succeeds when droid reports the mode asked
// for, since droid takes some values without obeying them (quirk 14).
func (a *Agent) setMode(c call) (any, *acp.RequestError) {
	var params struct {
		SessionID string     `json:"sessionId"`
		ModeID    droid.Mode `json:"modeId"`
	}
	if err := decode(c.params, &params); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	result := make(chan *acp.RequestError, 1)
	if !s.post(func() { s.changeMode(params.ModeID, result) }) {
		return nil, unknownSession(params.SessionID)
	}
	c.ordered()
	if err := <-result; err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// changeMode has droid change its mode and answers on result.
func (s *Session) changeMode(mode droid.Mode, result chan<- *acp.RequestError) {
	if !mode.Valid() {
		result <- invalidParams("unknown modeId %q", mode)
		return
	}
	s.withDroid(1, func(_ *droid.SessionInfo, err *acp.RequestError) {
		if err != nil {
			result <- err
			return
		}
		client := s.client
		patch := droid.ModeSettings(client.Version(), mode)
		s.do(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, setModeTime)
			defer cancel()
			err := client.UpdateSettings(ctx, patch)
			if !s.post(func() { result <- s.modeChanged(mode, err) }) {
				result <- errEnding()
			}
		})
	})
}

// modeChanged compares what droid did with what was asked.
func (s *Session) modeChanged(mode droid.Mode, err error) *acp.RequestError {
	if err != nil {
		return internalError("mode_refused", "droid did not change its mode: "+err.Error())
	}
	s.drainEvents() // settings_updated comes before the reply
	if got := s.settings.Mode(); got != mode {
		return internalError("mode_ignored", "droid took the request but stays in the mode "+strconv.Quote(string(got)))
	}
	return nil
}
