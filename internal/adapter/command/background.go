package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"droid-acp/internal/adapter/internal/background"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// backgroundCommand lists the commands that droid has left in the background, or stops one.
func backgroundCommand(ctx context.Context, s *session.Session, args string) (string, error) {
	running, unseen := s.BackgroundCommands()
	if number, ok := strings.CutPrefix(args, "stop"); ok {
		return stopBackground(ctx, s, running, strings.TrimSpace(number)), nil
	}
	var b strings.Builder
	for _, c := range running {
		fmt.Fprintf(&b, "- %d: %s, for %s, process %d\n", c.Number, backgroundName(c), time.Since(c.Since).Round(time.Second), c.PID)
	}
	if len(running) > 0 {
		b.WriteString("\n`/background stop NUMBER` stops one. All of them end with this session.")
	}
	if unseen {
		b.WriteString("\n\ndroid may have left a command in the background that cannot be seen from here.")
	}
	if b.Len() == 0 {
		b.WriteString("Nothing runs in the background.")
	}
	return b.String(), nil
}

// stopBackground stops the command with a number.
func stopBackground(ctx context.Context, s *session.Session, running []*background.Command, number string) string {
	for _, c := range running {
		if strconv.Itoa(c.Number) != number {
			continue
		}
		if s.StopBackground(context.WithoutCancel(ctx), c) { // a cancel ends the prompt, and the command is stopped all the same
			return "Stopped: " + backgroundName(c)
		}
		return backgroundName(c) + " was not stopped: it does not end."
	}
	return "No command in the background has the number " + number + "; `/background` lists them."
}

func backgroundName(c *background.Command) string { return markdown.Code(visible.Line(c.Line)) }
