package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/report"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/jsonrpc/flight"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
)

// errNoReports says that there is no directory for reports.
var errNoReports = errors.New("the user's directory for state is not known; name a file for the report")

// Report writes a report for a bug report to a file, "" for one in the directory for reports, and returns its path. why describes a fault,
// "" if the user asks for the report. It contains texts of the conversation only with info, which may be nil. An existing file is not
// overwritten.
func (s *Session) Report(ctx context.Context, file, why string, info *stream.SessionInfo) (path string, err error) {
	status := s.statusNow()
	if why == "" {
		status = s.Status(ctx)
	}
	r := report.Report{Session: s.droidID, Time: time.Now(), Why: why, Status: status.Text(), Settings: s.deps.reportSettings()}
	if s.deps.Config.RecentLog != nil {
		r.Log = s.deps.Config.RecentLog()
	}
	if exit, is := errors.AsType[*droid.ExitError](s.proc.LastCrash()); is {
		r.Stderr = exit.Stderr
	}
	if info != nil {
		text, err := json.MarshalIndent(info.Messages, "", "  ")
		if err != nil {
			return "", err
		}
		r.Conversation = string(text)
	}
	dir := s.deps.Config.Reports
	if file == "" && dir == "" {
		return "", errNoReports
	}
	path = paths.Absolute(s.cwd, file)
	ours, id := slices.Clone(s.flights), s.out.Session()
	err = s.callBounded(ctx, func(ctx context.Context) (err error) {
		r.Messages = s.deps.recentMessages(ours, id)
		path, err = files.CallBounded(ctx, s.deps.Calls, "WriteReport", path, func(path string) (string, error) {
			if file == "" {
				return r.WriteIn(dir)
			}
			return path, r.WriteFile(path)
		})
		return err
	})
	return path, err
}

// reportSettings returns the settings of the agent, and what it knows of the client.
func (d *Deps) reportSettings() []string {
	return []string{
		fmt.Sprintf("--files %q, --park-after %v, --follow-up %q", d.Config.Files, d.Config.ParkAfter, d.Config.Defaults.FollowUp),
		fmt.Sprintf("client: %+v", d.Client.ClientProfile), fmt.Sprintf("%d goroutines", runtime.NumGoroutine()),
	}
}

// recentMessages returns the last messages of the editor that name no other session than one, and those of that session's droids. They may
// be a megabyte of text, so it is called without the lock.
func (d *Deps) recentMessages(droids []*flight.Connection, session string) []string {
	return d.Config.Flight.Lines(func(c *flight.Connection, outline string) bool {
		if c != d.Flight {
			return slices.Contains(droids, c)
		}
		return !strings.Contains(outline, `sessionId:"`) || strings.Contains(outline, `sessionId:"`+session+`"`)
	})
}

// keptFlights is of how many of its last droids a session's report has messages.
const keptFlights = 3

func (s *Session) recordFlight(c *flight.Connection) {
	s.flights = append(s.flights[max(0, len(s.flights)-keptFlights+1):], c)
}

// reportFault writes a report after a fault, for reportHint. It begins a goroutine.
func (s *Session) reportFault(why string) {
	if s.deps.Config.Reports == "" {
		return
	}
	s.mu.Go(func() {
		s.afterPanic(func() { // Panicked would have it written again
			path, err := s.Report(s.Context, "", why, nil)
			if err != nil {
				s.log.Warn("a report was not written", zap.Error(err))
				return
			}
			s.faultReport = path
		})
	})
}

// reportHint says once where the report of the last fault is, "" if there is none.
func (s *Session) reportHint() string {
	path := s.faultReport
	if s.faultReport = ""; path == "" {
		return ""
	}
	return " What happened is in `" + path + "`, for a bug report, without prompts and texts of files."
}

// ReportParams are the params of _droid/report.
type ReportParams struct {
	Path  string `json:"path"`  // "" for a file in the directory for reports
	Texts bool   `json:"texts"` // adds the conversation; the session must be idle
}

// ReportTo writes a report, also while a turn runs.
func (s *Session) ReportTo(ctx context.Context, p ReportParams) (ExportedFile, *jsonrpc.Error) {
	var info *stream.SessionInfo
	if p.Texts {
		var err *jsonrpc.Error
		if info, err = s.whole(ctx, "ask for a report with texts when that has ended"); err != nil {
			return ExportedFile{}, err
		}
	}
	path, err := s.Report(ctx, p.Path, "", info)
	if err != nil {
		return ExportedFile{}, acperr.Internal("report_failed", "The report was not written: "+err.Error())
	}
	return ExportedFile{path}, nil
}
