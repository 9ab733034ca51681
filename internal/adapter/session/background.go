package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/background"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// A command that droid has left in the background is watched until it has ended, since droid does not report that. It ends with its droid,
// however droid ends.

// handleBackground begins to watch the command that an event leaves in the background.
func (s *Session) handleBackground(ev quirks.Event) {
	client := s.proc.Client()
	if client == nil {
		return
	}
	if c := s.proc.Commands.Handle(time.Now(), ev); c != nil {
		s.mu.Go(func() { s.watch(s.Context, client, c) })
	}
}

// watch shows the output of a background command, and its end.
func (s *Session) watch(ctx context.Context, client *droid.Client, c *background.Command) {
	var w *background.Watch
	var err error
	s.unlocked(ctx, func(ctx context.Context) {
		w, err = files.CallBounded(ctx, s.deps.Calls, "Watch", c.Output, func(path string) (*background.Watch, error) {
			return background.Begin(client, c.PID, path)
		})
	})
	if err != nil {
		s.log.Info("a command in the background cannot be watched", zap.Error(err))
		s.proc.Commands.Lose(c)
		return
	}
	if w.Unread != nil {
		s.log.Info("what a command in the background writes cannot be read", zap.Error(w.Unread))
	}
	defer w.Close()
	c.Of = w.Process
	var look background.Look
	for reads := s.deps.Client.TerminalOutput || s.deps.Client.AsyncTasks; !s.ended && s.proc.Commands.Runs(c); {
		room, seen := s.out.Full() == nil, look.At
		s.unlocked(ctx, func(ctx context.Context) {
			look, err = files.CallBounded(ctx, s.deps.Calls, "Watch.Look", c.Output, func(string) (background.Look, error) { return w.Look(reads && room, seen), nil })
		})
		if err != nil {
			look = background.Look{Runs: true, At: seen} // presumably
		}
		switch {
		case !s.proc.Commands.Runs(c): // its end was reported
		case !look.Runs:
			s.update(s.show.BackgroundOutput(c.BackgroundCommand, look.Piece)...)
			s.backgroundEnded(c, look.LastWords)
		default:
			s.update(s.show.BackgroundOutput(c.BackgroundCommand, look.Piece)...)
			s.unlocked(ctx, background.Pause)
		}
	}
}

// backgroundEnded shows once that a background command has ended.
func (s *Session) backgroundEnded(c *background.Command, lastWords string) {
	if !s.proc.Commands.Ended(c) {
		return
	}
	how := "It has ended. droid does not tell how."
	if c.Stopped {
		how = "You have stopped it."
	}
	text := s.show.BackgroundEndMessage(c.BackgroundCommand, c.Line, lastWords)
	s.update(s.show.BackgroundEnded(c.BackgroundCommand, how, lastWords, c.Stopped)...)
	if text != "" && !c.Stopped {
		s.notifyInOrder(text)
	}
}

// BackgroundCommands returns the commands that droid has left in the background. unseen says that there may be others.
func (s *Session) BackgroundCommands() (running []*background.Command, unseen bool) {
	return s.proc.Commands.Running(), s.proc.NotWatched()
}

// StopBackground ends a command in the background. It reports whether the command is gone.
func (s *Session) StopBackground(ctx context.Context, c *background.Command) (gone bool) {
	if c.Of == nil {
		return false
	}
	c.Stopped = true
	s.unlocked(ctx, func(context.Context) { gone = c.Of.End(background.StopTime) })
	if c.Stopped = gone; gone {
		s.backgroundEnded(c, "")
	}
	return gone
}

// updateBackground notifies the user, once, that the commands in the background end: they end with droid, and nothing else
// reports that. It returns those that are known, for endLeft.
func (s *Session) updateBackground() []*background.Command {
	left, some := s.proc.LoseBackground()
	if !some {
		return nil
	}
	text := "A command that droid ran in the background was ended, since droid's process had to end"
	var lines []string
	for _, c := range left {
		s.update(s.show.BackgroundEnded(c.BackgroundCommand, "It was ended together with droid.", "", true)...)
		lines = append(lines, markdown.Code(visible.Line(c.Line)))
	}
	if len(lines) > 0 {
		text += ": " + strings.Join(lines, ", ")
	}
	s.notifyInOrder(text + ".")
	return left
}

// endLeft makes sure that commands in the background are gone, as their droid is: one that was killed by somebody else
// leaves them running (0.215, 0.225). It blocks.
func endLeft(left []*background.Command) {
	for _, c := range left {
		if c.Of != nil {
			c.Of.End(background.StopTime)
		}
	}
}

// findBackground looks which of the commands that a history leaves in the background may still run. Those for which there is no time
// may: a history can name very many.
func (s *Session) findBackground(ctx context.Context, messages []stream.Message) {
	var all []render.BackgroundCommand
	for _, m := range messages {
		for _, b := range m.Content {
			if left, ok := render.ParseBackgroundResult(b.Content); ok && b.Type == "tool_result" {
				all = append(all, left)
			}
		}
	}
	if len(all) > 0 {
		s.unlocked(ctx, func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, DiskTime)
			defer cancel()
			all = slices.DeleteFunc(all, func(l render.BackgroundCommand) bool { return ctx.Err() == nil && !s.deps.MayStillRun(l.PID, l.Output) })
		})
	}
	s.show.SetSurvivors(all)
}

// StopTask stops the command in the background with this id, and waits for its end. It reports false if there is no such command, or it has
// ended already. See Enter for ordered.
func (s *Session) StopTask(ordered func(), id string) (stopped bool, err *jsonrpc.Error) {
	if err = s.Enter(ordered); err != nil {
		return false, err
	}
	defer s.Exit(&err)
	for _, c := range s.proc.Commands.Running() {
		if c.ID() == id {
			stopped = s.StopBackground(s.Context, c)
		}
	}
	return stopped, nil
}
