package mcp

import (
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// A prompt waits for MCP servers that still start, so that the model knows their
// tools. 0.2 s is common; a server that is installed first takes seconds, and one
// that never answers is given up by droid after 30 s (0.225) or 60 s (0.99).
const (
	startTime  = 10 * time.Second // no prompt waits longer than this after the start of the process
	startQuiet = 2 * time.Second  // a prompt that waits longer says so
)

// start is how far the MCP servers that a process was given have started.
type start struct {
	names  []string        // that have neither connected nor failed
	known  map[string]bool // those that droid has named
	heard  bool            // droid has reported its servers since it opened the session
	until  time.Time       // when the servers are late
	late   bool            // they were reported late
	tellAt time.Time       // when the prompt that waits says so; zero when none waits or it has
}

func newStart(now time.Time, names []string) *start {
	return &start{names: names, known: map[string]bool{}, until: now.Add(startTime)}
}

// hear handles droid's report on its servers. It returns those that have connected after they were reported late.
func (w *start) hear(ev stream.MCPStatusChanged) (arrived []string) {
	w.heard = w.heard || ev.Opened
	for _, server := range ev.Servers {
		i := slices.Index(w.names, server.Name)
		if i < 0 {
			continue
		}
		w.known[server.Name] = true
		if server.Status == "connecting" {
			continue
		}
		w.names = slices.Delete(w.names, i, i+1)
		if w.late && server.Status == "connected" {
			arrived = append(arrived, server.Name)
		}
	}
	return arrived
}

// Due returns when Tick is wanted next, if at all.
func (s *Servers) Due() (at time.Time, ok bool) {
	switch w := s.start; {
	case w == nil || w.late:
		return time.Time{}, false
	case !w.tellAt.IsZero() && w.tellAt.Before(w.until):
		return w.tellAt, true
	default:
		return w.until, true
	}
}

// Starting reports whether a prompt is to wait: servers have neither started nor failed, and
// are not late.
func (s *Servers) Starting() bool { return s.start != nil && !s.start.late }

// Await notes that a prompt waits from now on, if it does.
func (s *Servers) Await(now time.Time) {
	if s.Starting() {
		s.start.tellAt = now.Add(startQuiet)
	}
}

// Tick returns the text for the user at this time. working says that the session still works on a prompt, so that it makes sense to say
// what it waits for.
func (s *Servers) Tick(now time.Time, working bool) (texts []string) {
	w := s.start
	if at, ok := s.Due(); !ok || now.Before(at) {
		return nil
	}
	if now.Before(w.until) {
		w.tellAt = time.Time{}
		if working {
			texts = []string{"Waiting for the MCP servers to start: " + strings.Join(w.names, ", ") + "."}
		}
		return texts
	}
	w.late, w.tellAt = true, time.Time{}
	if w.heard { // if not, droid may be one that says nothing until the first server has started or failed (0.99)
		var known, unknown []string
		for _, name := range w.names {
			if w.known[name] {
				known = append(known, name)
			} else {
				unknown = append(unknown, name)
			}
		}
		texts, w.names = s.ignored(unknown), known
	}
	if len(w.names) > 0 {
		texts = append(texts, s.lateText(w.names))
	}
	s.started()
	return texts
}

// lateText says that the servers have not answered in time.
func (s *Servers) lateText(names []string) string {
	text := "These MCP servers have not answered for " + startTime.String() + ": " + strings.Join(names, ", ") +
		". The prompt goes on without their tools, which are added when the servers answer. Until then calls of other MCP tools may wait, for a minute at most."
	if !s.process.Version.Supports(stream.OffersToolsEarly) {
		text += " This version of droid does not offer them to the model before."
	}
	return text
}

// started forgets the start when no server is left: nothing more is to be heard of it.
func (s *Servers) started() {
	if s.start != nil && len(s.start.names) == 0 {
		s.start = nil
	}
}
