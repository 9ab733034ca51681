package adapter

import (
	"context"

	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// reading holds back an event while the files that it is shown with are read beside the
// owner, which still hears the editor meanwhile. Later events of droid's wait behind it,
// so that all are told in order. The zero value holds nothing.
type reading struct {
	waits *[]quirks.Event // the first one waits for files; nil while none does
}

// waiting reports whether an event waits for its files.
func (r *reading) waiting() bool { return r.waits != nil }

// apply translates honest events, in order. One that is shown with files waits
// until they are read, and with it all that follow.
func (s *Session) apply(events []quirks.Event) {
	for i, ev := range events {
		if w := s.reading.waits; w != nil {
			*w = append(*w, events[i:]...)
			return
		}
		if !s.readFirst(ev) {
			s.translate(ev, nil)
		}
	}
}

// readFirst begins to read the files that ev is shown with. It reports false when
// there are none.
func (s *Session) readFirst(ev quirks.Event) bool {
	paths := s.show.Needs(ev)
	if s.ended || len(paths) == 0 {
		return false
	}
	w := &[]quirks.Event{ev}
	s.reading.waits = w
	files, first := s.agent.files, s.fileCalls.beforeShown(ev, s.agent.editorFiles.files, paths)
	s.do(func(ctx context.Context) {
		if first != nil {
			first(ctx)
		}
		texts := files.Read(ctx, paths)
		s.post(func() {
			if s.reading.waits == w {
				s.filesRead(texts)
			}
		})
	}, s.readNoMore)
	return true
}

// filesRead translates what waited for the files, and what came after it.
func (s *Session) filesRead(texts show.Files) {
	w := *s.reading.waits
	s.reading.waits = nil
	s.translate(w[0], texts)
	s.apply(w[1:])
}

// readNoMore translates what waits for files without them, because the session or its
// process ends, or the reading failed.
func (s *Session) readNoMore() {
	for s.reading.waiting() {
		s.filesRead(nil)
	}
}
