package adapter

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// statusCommand shows what a bug report needs.
func statusCommand(r *commandRun, _ string) {
	s := r.s
	var path, release, trusted string
	cwd, client := s.cwd, s.proc.Client()
	err := r.unlocked(func(ctx context.Context) (err error) {
		path, err = files.CallBounded(ctx, s.agent.calls, "Locate", "droid", func(string) (string, error) { return s.agent.cfg.Locate() })
		if err != nil {
			return err
		}
		release, err = files.CallBounded(ctx, s.agent.calls, "Release", path, func(path string) (string, error) { return s.agent.cfg.Release(ctx, path) })
		if err != nil {
			s.log.Info("droid did not tell its version", zap.Error(err))
			release = "of an unknown version"
		}
		if project, err := s.agent.opener.Project(ctx, cwd, client); err == nil {
			trusted = project.State()
		}
		return nil
	})
	if err != nil {
		path, release = err.Error(), "of an unknown version"
	}
	protocol := "no process runs; the next prompt starts one"
	if s.proc.Client() != nil {
		version := s.proc.Client().Version()
		protocol = "protocol " + version.String()
		if missing := version.Missing(); missing != "" {
			protocol += "; it " + missing + ". " + stream.Update
		}
		if untried := version.Untried(); untried != "" {
			protocol += "; it " + untried
		}
		protocol += strangeText(s.proc.Client().UnknownFields())
	}
	waits := ""
	if all := s.waits(time.Now()); len(all) > 0 {
		waits = "- what waits: " + strings.Join(all, "; ") + "\n"
	}
	session := "- session " + s.out.Session()
	if s.droidID != s.out.Session() {
		session += "\n- droid's session " + s.droidID
	}
	r.reply(fmt.Sprintf("- droid-acp %s, %s/%s, %s\n- droid %s: %s, %s\n%s\n- directory %s%s\n- files %s\n- model %s, effort %s, mode %s, follow-ups: %s\n%s",
		s.agent.cfg.Version, runtime.GOOS, runtime.GOARCH, runtime.Version(), release, path, protocol, session, s.cwd, trusted, filesWay(s),
		options.OrEmpty(s.options.Settings().ModelID), options.OrEmpty(s.options.Settings().ReasoningEffort), s.options.Mode().Title(), s.options.FollowUp(), waits))
}

// strangeText names what droid said and droid-acp has no table of.
func strangeText(strange map[string]int) string {
	if len(strange) == 0 {
		return ""
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(strange)) {
		all = append(all, fmt.Sprintf("%s (%d)", what, strange[what]))
	}
	return "\n- droid said what droid-acp does not know: " + strings.Join(all, ", ")
}

// filesWay says how droid's reads and edits reach the files.
func filesWay(s *Session) string {
	switch {
	case s.fileCalls.On():
		return "through the editor"
	case s.agent.cfg.Files == FilesDisk:
		return "on disk, as --files says"
	case !s.agent.client.Files:
		return "on disk; this editor does not offer its buffers"
	case !s.agent.usesEditorFiles(s.agent.client):
		return "on disk; this editor's buffers are not used (--files editor uses them)"
	case s.proc.Client() == nil:
		return "as the next process allows"
	case s.proc.Client().Without() != nil && !s.proc.Client().HasHooks():
		return "on disk, as long as what this project brings is left out"
	}
	return "on disk, since this droid cannot be held before and after its edits; the log says why"
}
