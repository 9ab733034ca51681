package adapter

import (
	"droid-acp/internal/paths"
	"droid-acp/internal/prompt"
)

// promptRules are what the session can take with the next prompt.
func (s *Session) promptRules() prompt.Rules {
	return prompt.Rules{
		Dir:         s.cwd,
		AttachFiles: s.client == nil || !s.client.Version().IsZero(),
		BlindModel:  s.blindModel(),
		Missing: func(path string) bool {
			_, err := s.agent.stat(paths.Absolute(s.cwd, path))
			return err != nil
		},
	}
}

// blindModel is the name of the model in use if it cannot see images; droid
// would tell it that an image is not shown, and the user nothing.
func (s *Session) blindModel() string {
	id := s.settings.ModelID
	if spec := s.settings.SpecModeModelID; spec != nil && *spec != "" && s.settings.Mode() == "spec" {
		id = spec
	}
	if id == nil {
		return ""
	}
	for _, m := range s.models {
		if m.ID == *id && m.NoImageSupport {
			if m.DisplayName != "" {
				return m.DisplayName
			}
			return m.ID
		}
	}
	return ""
}
