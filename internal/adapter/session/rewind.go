package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// RewindPoint is a prompt that the user can go back to.
type RewindPoint struct{ MessageID, Text string }

// RewindPoints returns the user's prompts in a history, oldest first.
func RewindPoints(messages []stream.Message) (points []RewindPoint) {
	for _, ev := range quirks.History(messages) {
		said, ok := ev.(quirks.UserText)
		if !ok || said.MessageID == "" {
			continue
		}
		if n := len(points); n > 0 && points[n-1].MessageID == said.MessageID {
			points[n-1].Text += render.UserPromptText(said, "")
			continue
		}
		points = append(points, RewindPoint{said.MessageID, render.UserPromptText(said, "")})
	}
	return points
}

// NotRewound says that nothing was changed.
const NotRewound = "The session was not rewound"

// RewindPlan describes the effects of going back to before a prompt, provided that nothing changes before Rewind.
type RewindPlan struct {
	// Question asks about changes of the user's that may be lost, nil if there are none or the client cannot ask. Unless it is answered
	// with yes, Rewind must not be called.
	Question *render.AgentPrompt

	w        rewinding
	to       RewindPoint
	next     store.Successor
	named    int                  // store.Name.Given when the plan was made
	all      []render.RewoundFile // the files that droid has edited since
	files    []rewoundFile        // those of them that change
	done     rewound
	switches bool // droid goes over to the new session by itself
}

// PlanRewind looks what going back to before a prompt of a history does, to files as well if these are wanted.
func (s *Session) PlanRewind(ctx context.Context, info *stream.SessionInfo, to RewindPoint, wanted bool) (*RewindPlan, error) {
	p := &RewindPlan{to: to, named: s.name.Given(), w: rewinding{s: s, client: s.proc.Client(), session: s.droidID, cwd: s.cwd, overlay: s.fileCalls.overlay}}
	if p.w.client == nil { // it died behind the load
		return nil, Failed(NotRewound, s.proc.LastCrash())
	}
	err := s.callBounded(ctx, func(ctx context.Context) error {
		p.next = s.deps.Threads.Successor(ctx, p.w.session)
		found, at, err := rewindFiles(ctx, p.w.client, p.w.session, to, info.Messages, p.w.cwd, wanted)
		p.done.evicted = len(found.Evicted)
		p.files = p.w.check(ctx, found, at, editsFrom(info.Messages, to.MessageID, p.w.cwd))
		return err
	})
	if err != nil {
		return nil, Failed(NotRewound, err)
	}
	p.switches = p.w.client.Version().Supports(stream.GoesOverAfterRewind)
	for _, f := range p.files {
		p.all = append(p.all, f.RewoundFile)
	}
	if ends := p.endsBackground(); ends || len(p.files) > 0 {
		if p.Question = s.show.RewindQuestion(p.all, ends); p.Question == nil { // the client cannot ask
			p.leaveUnsafe()
		}
	}
	return p, nil
}

// endsBackground reports whether the rewind ends commands that droid runs in the background.
func (p *RewindPlan) endsBackground() bool { return !p.switches && p.w.s.proc.Background() }

// leaveUnsafe takes files that may have changes of the user's out of the plan.
func (p *RewindPlan) leaveUnsafe() {
	p.files = slices.DeleteFunc(p.files, func(f rewoundFile) bool {
		if f.MayLoseChanges() {
			p.done.unasked = append(p.done.unasked, f.Path)
		}
		return f.MayLoseChanges()
	})
}

// Rewind goes back as planned, and returns what became of the files. The thread continues in another session.
func (s *Session) Rewind(ctx context.Context, p *RewindPlan) (text string, err error) {
	titles, none := s.take(ctx, &s.titles, "a rewind", untilTitle)
	if none != nil { // it was cancelled, or the session ends
		return "", cmp.Or(context.Cause(ctx), error(none))
	}
	defer titles()
	// From here on a cancel takes effect when droid has answered, so that the outcome for the conversation and the files is always
	// reported.
	ctx = s.uncancellable(ctx)
	err = s.callBounded(ctx, func(ctx context.Context) (err error) {
		err = p.w.goBack(ctx, &p.done, p.next.Title, p.to, p.files)
		if err == nil {
			p.next.Made(p.done.NewSessionID, store.LinkRewind)
		}
		return err
	})
	for _, path := range p.done.saved {
		s.update(render.SavedNotice(path))
	}
	switch {
	case errors.As(err, new(*stream.RPCError)):
		return "", Failed(NotRewound, err)
	case err != nil:
		return "", Failed("The session goes on as it was. Whether files were restored is not known", Plainly(err))
	}
	text = p.done.text(s.show)
	if err := s.switchSession(ctx, p.next, !p.switches); err != nil {
		return "", Failed(text+" The conversation was not rewound", err)
	}
	titles() // it has another one from here on
	return text + s.arrived(ctx, p.next, p.named), nil
}

// rewindFiles asks what going back to before a prompt would do to files: nothing where files are not wanted. Of a message in
// whose turn it edited none droid knows no files, and of another all from there on (0.225): the next ones are asked about, until
// there are some, or droid has forgotten what it edited; what it knows of later ones is not the text of that time. at is the message
// that the answer is about.
func rewindFiles(ctx context.Context, client *droid.Client, session string, p RewindPoint, messages []stream.Message, cwd string, wanted bool) (info droid.RewindInfo, at string, err error) {
	for id, edits := range turnsFrom(messages, p.MessageID, cwd) {
		info, err = client.RewindInfo(ctx, session, id)
		at = id
		if err != nil || !wanted || edits || len(info.Available)+len(info.Created)+len(info.Evicted) > 0 {
			break
		}
	}
	var refused *stream.RPCError
	if !wanted && (err == nil || errors.As(err, &refused)) {
		// 0.99 knows no files after it has loaded a session; the
		// conversation can be rewound all the same.
		return droid.RewindInfo{Evicted: info.Evicted}, at, nil
	}
	return info, at, err
}

// turnsFrom returns the messages of a history that droid may have worked at, from this one on, each with whether droid edited files then.
func turnsFrom(messages []stream.Message, from, cwd string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		turn, edits, calls := "", false, map[string]bool{}
		for _, m := range messages {
			first := turn == "" && m.ID == from
			starts := first || turn != "" && m.Role != stream.RoleAssistant && m.ID != "" && m.ID != turn
			for _, b := range m.Content {
				call := quirks.ResultCallID(b)
				edits = edits || calls[call] && !quirks.IsFailedResult(b)
				if b.Type == "tool_use" && len(render.EditedFiles(b.Name, b.Input, cwd)) > 0 {
					calls[b.ID] = true
				}
				starts = first || starts && call == ""
			}
			if !starts {
				continue
			}
			if turn != "" && !yield(turn, edits) {
				return
			}
			turn, edits = m.ID, false
		}
		if turn != "" {
			yield(turn, edits)
		}
	}
}

// RewoundTo returns the first sentence for the user after a rewind to before prompt n.
func RewoundTo(n int) string {
	return fmt.Sprintf("This thread is back at the point before prompt %d. ", n)
}
