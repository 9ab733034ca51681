package session

import (
	"context"
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/visible"
)

// State is the state of a session, as _droid/state tells it.
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
	AutoCompaction  *bool             `json:"autoCompaction"` // null where droid does not tell
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

// Status is what a bug report needs.
type Status struct {
	State
	Agent    string          // the version of this program
	Droid    string          // the path of droid's program, or why it is not known
	Release  string          // of that program
	Runs     *stream.Version // of the process, nil if none runs
	Unknown  map[string]int  // what droid said and this program has no table of
	Trusted  string          // whether the project is
	FilesWay string          // how droid's reads and edits reach the files
}

// Status looks what a bug report needs.
func (s *Session) Status(ctx context.Context) (status Status) {
	cwd, client := s.cwd, s.proc.Client()
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
		if project, err := s.deps.Opener.Project(ctx, cwd, client); err == nil {
			status.Trusted = project.State()
		}
		return nil
	})
	if err != nil {
		status.Droid, status.Release = err.Error(), "of an unknown version"
	}
	if client := s.proc.Client(); client != nil {
		version := client.Version()
		status.Runs, status.Unknown = &version, client.UnknownFields()
	}
	status.State, status.Agent, status.FilesWay = s.State(), s.deps.Config.Version, s.filesWay()
	return status
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
	case s.proc.Client().Without() != nil && !s.proc.Client().HasHooks():
		return "on disk, as long as what this project brings is left out"
	}
	return "on disk, since this droid cannot be held before and after its edits; the log says why"
}
