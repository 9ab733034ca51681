package session

import (
	"context"
	"encoding/json"
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
	"droid-acp/internal/text/visible"
)

// State is the state of a session, the result of _droid/state.
type State struct {
	SessionID       string            `json:"sessionId"`
	DroidSessionID  string            `json:"droidSessionId"`
	CWD             string            `json:"cwd"`
	Title           string            `json:"title"`
	ProtocolVersion string            `json:"protocolVersion"` // "" while no process runs
	Model           string            `json:"model"`
	ReasoningEffort string            `json:"reasoningEffort"`
	Mode            stream.Mode       `json:"mode"`
	FollowUp        string            `json:"followUp"`
	IsRunning       bool              `json:"isRunning"`
	IsCompacting    bool              `json:"isCompacting"`
	WaitingPrompts  int               `json:"waitingPrompts"`
	AutoCompaction  *bool             `json:"autoCompaction"` // null if droid does not report it
	Options         map[string]string `json:"options"`        // the values of all settings, by the ids of their config options
	Settings        json.RawMessage   `json:"settings"`       // droid's own
	Waits           []string          `json:"waits"`          // who waits for what, and since when, in words
}

// State returns the state of the session.
func (s *Session) State() State {
	version := ""
	if client := s.proc.Client(); client != nil {
		version = client.Version().String()
	}
	settings := s.options.Settings()
	return State{
		SessionID: s.out.Session(), DroidSessionID: s.droidID, CWD: s.cwd, Title: visible.Line(s.name.Title()), ProtocolVersion: version,
		Model: options.OrEmpty(settings.ModelID), ReasoningEffort: options.OrEmpty(settings.ReasoningEffort), Mode: s.options.Mode(), FollowUp: s.options.FollowUp(),
		IsRunning: s.prompts.RunsOne(), IsCompacting: s.show.Compacting(), WaitingPrompts: s.prompts.Waiting(),
		AutoCompaction: settings.AutoCompaction, Options: s.options.Values(), Settings: settings.Raw, Waits: s.waits(time.Now()),
	}
}

// Status has the data for a bug report.
type Status struct {
	State
	Agent   string          // the version of this program
	Droid   string          // the path of droid's program, or why it is not known
	Release string          // of that program
	Runs    *stream.Version // of the process, nil if none runs
	Unknown map[string]int  // what droid said and this program has no table of
	Trusted string          // whether the project is
	Files   string          // how droid's reads and edits reach the files
}

// Status reports what a bug report needs. It asks droid's program for its version.
func (s *Session) Status(ctx context.Context) Status {
	cwd, client, status := s.cwd, s.proc.Client(), Status{}
	err := s.callBounded(ctx, func(ctx context.Context) (err error) {
		status.Droid, err = files.CallBounded(ctx, s.deps.Calls, "Locate", "droid", func(string) (string, error) { return s.deps.Config.Locate() })
		if err != nil {
			return err
		}
		status.Release, err = files.CallBounded(ctx, s.deps.Calls, "Release", status.Droid, func(path string) (string, error) { return s.deps.Config.Release(ctx, path) })
		if err != nil {
			s.log.Info("droid did not tell its version", zap.Error(err))
			status.Release = "of an unknown version"
		}
		if project, err := s.deps.Launcher.Project(ctx, cwd, client); err == nil {
			status.Trusted = project.State()
		}
		return nil
	})
	if err != nil {
		status.Droid, status.Release = err.Error(), "of an unknown version"
	}
	now := s.statusNow()
	now.Droid, now.Release, now.Trusted = status.Droid, status.Release, status.Trusted
	return now
}

// statusNow is Status without what programs and files have to be asked for.
func (s *Session) statusNow() Status {
	status := Status{State: s.State(), Agent: s.deps.Config.Version, Files: s.filesWay(), Release: "of a version that was not asked for", Droid: "its path is in the log"}
	if client := s.proc.Client(); client != nil {
		version := client.Version()
		status.Runs, status.Unknown = &version, client.UnknownFields()
	}
	return status
}

// Text returns a status as a list in Markdown.
func (is Status) Text() string {
	protocol := "no process runs; the next prompt starts one"
	if version := is.Runs; version != nil {
		protocol = "protocol " + version.String()
		if missing := version.Missing(); missing != "" {
			protocol += "; it " + missing + ". " + stream.Update
		}
		if untried := version.Untried(); untried != "" {
			protocol += "; it " + untried
		}
		protocol += strangeText(is.Unknown)
	}
	waits := ""
	if len(is.Waits) > 0 {
		waits = "- what waits: " + strings.Join(is.Waits, "; ") + "\n"
	}
	session := "- session " + is.SessionID
	if is.DroidSessionID != is.SessionID {
		session += "\n- droid's session " + is.DroidSessionID
	}
	return fmt.Sprintf("- droid-acp %s, %s/%s, %s\n- droid %s: %s, %s\n%s\n- directory %s%s\n- files %s\n- model %s, effort %s, mode %s, follow-ups: %s\n%s",
		is.Agent, runtime.GOOS, runtime.GOARCH, runtime.Version(), is.Release, is.Droid, protocol, session, is.CWD, is.Trusted, is.Files,
		is.Model, is.ReasoningEffort, is.Mode.Title(), is.FollowUp, waits)
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
func (s *Session) filesWay() string {
	switch {
	case s.fileCalls.On():
		return "through the editor"
	case s.deps.Config.Files == FilesDisk:
		return "on disk, as --files says"
	case !s.deps.Client.Files:
		return "on disk; this editor does not offer its buffers"
	case !s.deps.Config.Files.UsesEditor(s.deps.Client):
		return "on disk; this editor's buffers are not used (--files editor uses them)"
	case s.proc.Client() == nil:
		return "as the next process allows"
	case s.proc.Client().Excluded() != nil && !s.proc.Client().HasHooks():
		return "on disk, as long as what this project brings is left out"
	}
	return "on disk, since this droid cannot be held before and after its edits; the log says why"
}
