package adapter

import (
	"fmt"
	"runtime"

	"droid-acp/internal/options"
)

// statusCommand shows what a bug report needs.
func statusCommand(r *commandRun, _ string) {
	s := r.s
	path, err := s.agent.cfg.Locate()
	if err != nil {
		path = err.Error()
	}
	protocol := "no process runs; the next prompt starts one"
	if s.proc.client() != nil {
		protocol = "protocol " + s.proc.client().Version().String()
	}
	r.reply(fmt.Sprintf("- droid-acp %s, %s/%s, %s\n- droid: %s, %s\n- session %s\n- droid's session %s\n- directory %s\n- model %s, effort %s, mode %s, follow-ups: %s\n",
		s.agent.cfg.Version, runtime.GOOS, runtime.GOARCH, runtime.Version(), path, protocol, s.id, s.droidID, s.cwd,
		options.OrEmpty(s.options.Settings().ModelID), options.OrEmpty(s.options.Settings().ReasoningEffort), s.options.Mode(), s.options.FollowUp()))
}
