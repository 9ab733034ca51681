package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/render"
)

// rewindCommand goes back to before one of the user's prompts, or lists them.
func rewindCommand(ctx context.Context, s *session.Session, args string) (string, error) {
	info, err := s.History(ctx)
	if err != nil {
		return "", session.Failed(session.NotRewound, err)
	}
	points, fields := session.RewindPoints(info.Messages), strings.Fields(args)
	switch {
	case len(points) == 0:
		return "There is no prompt to go back to. Prompts before a summary cannot be rewound; `/fork before` reopens them.", nil
	case len(fields) == 0:
		return listRewindPoints(points), nil
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil || n < 1 || n > len(points) {
		return "", session.Failed(session.NotRewound, fmt.Errorf("%s is not the number of a prompt; they go from 1 to %d", fields[0], len(points)))
	}
	plan, err := s.PlanRewind(ctx, info, points[n-1], len(fields) > 1)
	if err != nil {
		return "", err
	}
	if err := s.Agree(ctx, plan.Question, "Not rewound", "Agreed: go back"); err != nil {
		return "", err
	}
	text, err := s.Rewind(ctx, plan)
	return session.RewoundTo(n) + text, err
}

// listRewindPoints returns the list of points for the user.
func listRewindPoints(points []session.RewindPoint) string {
	var b strings.Builder
	b.WriteString("`/rewind N` goes back to before prompt N, `/rewind N files` restores the files, too:\n\n")
	for i, p := range points {
		fmt.Fprintf(&b, "%d. %s\n", i+1, render.FirstLine(p.Text))
	}
	return b.String()
}
