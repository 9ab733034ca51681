package session

import (
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
)

// ProviderChanged makes the session show the models of the provider of now, and replace its droid once it is idle. It does not wait.
func (s *Session) ProviderChanged() { s.mu.Post(s.providerChanged) }

// providerChanged shows the models of the provider of now, and ends the session's droid if it is idle.
func (s *Session) providerChanged() {
	if s.ended {
		return
	}
	if !s.proc.NeedsCreate() {
		s.options.Offered(s.deps.Provider.Offered(s.options.Models()))
		s.updateState()
	}
	s.renewIdle()
	s.notifyMissingModel()
}

// notifyMissingModel notifies the user if the session's model is one of a provider that is not set.
func (s *Session) notifyMissingModel() {
	if text := s.missingModel(); text != "" {
		s.notifyInOrder(text)
	}
}

// notifyProvider notifies a client that opens a session of what its provider lacks.
func (s *Session) notifyProvider() {
	s.out.AddNotices(s.deps.Provider.Notices()...)
	s.notifyMissingModel()
}

// replaceRevoked ends the session's droid once its turn has ended, if it must not get another prompt.
func (s *Session) replaceRevoked() {
	if client := s.proc.Client(); client != nil && s.deps.Accounts.Revoked(client) {
		s.mu.Post(s.renewIdle)
	}
}

// missingModel returns a text for the user if the session's model is one of a provider that is not set, "" otherwise.
func (s *Session) missingModel() string {
	return s.deps.Provider.Missing(s.options.ModelInUse(), s.options.Models())
}

// checkModel refuses a prompt if the model is one of a provider that is not there. droid would fail with "Custom model configuration is
// unavailable" (0.215, 0.225), or ask for a login (0.99).
func (p *userPrompt) checkModel() *jsonrpc.Error {
	if text := p.s.missingModel(); text != "" {
		return acperr.Internal("model_unavailable", "The prompt was not sent. "+text)
	}
	return nil
}
