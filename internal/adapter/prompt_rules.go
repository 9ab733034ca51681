package adapter

import (
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/prompt"
)

// anySession are rules that leave out all that depends on a session's droid and model.
func anySession(dir string) prompt.Rules { return prompt.Rules{Dir: dir, AttachFiles: true} }

// promptRules are what the session can take with the next prompt.
func (s *Session) promptRules(p *userPrompt) prompt.Rules {
	return prompt.Rules{
		Dir:         s.cwd,
		AttachFiles: s.proc.Client() == nil || s.proc.Has(stream.TakesAttachedFiles),
		BlindModel:  s.options.BlindModel(),
		Missing:     func(path string) bool { return p.missing[path] },
	}
}
