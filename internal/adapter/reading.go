package adapter

import (
	"context"
	"encoding/json"

	"droid-acp/internal/patch"
	"droid-acp/internal/paths"
	"droid-acp/internal/quirks"
)

// reading is an event that waits for the files that it is shown with. They are
// read beside the owner, which goes on to hear the editor; what droid says
// meanwhile waits, so that all is told in order.
type reading struct {
	first quirks.Event   // the one that waits for the files
	held  []quirks.Event // what came after it
}

// apply translates honest events, in order. One that is shown with files waits
// until they are read, and with it all that follow.
func (s *Session) apply(events []quirks.Event) {
	for _, ev := range events {
		switch {
		case s.reading != nil:
			s.reading.held = append(s.reading.held, ev)
		case !s.readFirst(ev):
			s.translate(ev)
		}
	}
}

// readFirst begins to read the files that ev is shown with. It reports false when
// there are none.
func (s *Session) readFirst(ev quirks.Event) bool {
	paths := s.filesOf(ev)
	if s.ended || len(paths) == 0 {
		return false
	}
	r := &reading{first: ev}
	s.reading = r
	files := s.agent.files
	s.do(func(ctx context.Context) {
		texts := files.read(ctx, paths)
		s.post(func() {
			if s.reading == r {
				s.filesRead(texts)
			}
		})
	}, s.readNoMore)
	return true
}

// filesRead translates what waited for the files, and what came after it.
func (s *Session) filesRead(texts map[string]fileText) {
	r := s.reading
	s.reading, s.texts = nil, texts
	s.translate(r.first)
	s.texts = nil
	if started, ok := r.first.(quirks.ToolStarted); ok {
		if e := s.views.get(started.ID).edit; e != nil && e.changes == nil {
			e.texts = texts // it is described later
		}
	}
	s.apply(r.held)
}

// plan notes what the input of a call is about to change.
func (s *Session) plan(e *edit, name string, input json.RawMessage) {
	if s.texts == nil {
		s.texts = e.texts
		defer func() { s.texts = nil }()
	}
	e.changes, e.texts = s.plannedChanges(name, input), nil
}

// readNoMore has what waits for files told without them: the session or its
// process ends.
func (s *Session) readNoMore() {
	for s.reading != nil {
		s.filesRead(nil)
	}
}

// filesOf are the files that an event is shown with.
func (s *Session) filesOf(ev quirks.Event) (paths []string) {
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		paths = s.inputFiles(ev.Name, ev.Input)
	case quirks.ToolInput:
		paths = s.inputFiles(ev.Name, ev.Input)
	case quirks.PermissionAsked:
		for _, tool := range ev.Tools {
			paths = append(paths, s.inputFiles(tool.ToolUse.Name, tool.ToolUse.Input)...)
		}
	case quirks.ToolEnded:
		if e := s.views.get(ev.ID).edit; e != nil && !ev.Unfinished && !ev.IsError {
			for _, c := range e.changes {
				paths = append(paths, c.path)
			}
		}
	}
	return paths
}

// inputFiles are the files that the input of a call names, if it changes files.
func (s *Session) inputFiles(name string, raw json.RawMessage) (named []string) {
	var in struct {
		FilePath string `json:"file_path"`
		Input    string `json:"input"`
	}
	if !isEdit(name) || json.Unmarshal(raw, &in) != nil {
		return nil
	}
	if name != "ApplyPatch" {
		if in.FilePath == "" {
			return nil
		}
		return []string{paths.Absolute(s.cwd, in.FilePath)}
	}
	files, err := patch.Parse(in.Input)
	if err != nil {
		return nil
	}
	for _, f := range files {
		named = append(named, paths.Absolute(s.cwd, f.Path))
		if f.MoveTo != "" {
			named = append(named, paths.Absolute(s.cwd, f.MoveTo))
		}
	}
	return named
}

// readText is the text of a file that was read for the event that is being told:
// nil when there is no such file. known is false when it could not be read in
// time, cannot be shown, or was not read, as in a conversation of the past, whose
// files have changed since.
func (s *Session) readText(path string) (text *string, known bool) {
	if s.views.past {
		return nil, false
	}
	t := s.texts[path]
	return t.text, t.known
}
