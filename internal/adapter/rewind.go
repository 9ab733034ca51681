package adapter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// rewindPoint is a prompt that the user can go back to.
type rewindPoint struct{ MessageID, Text string }

// rewindPoints are the user's prompts in a history, oldest first.
func rewindPoints(messages []stream.Message) (points []rewindPoint) {
	for _, ev := range quirks.History(messages) {
		said, ok := ev.(quirks.UserText)
		if !ok || said.MessageID == "" {
			continue
		}
		if n := len(points); n > 0 && points[n-1].MessageID == said.MessageID {
			points[n-1].Text += render.UserPromptText(said, "")
			continue
		}
		points = append(points, rewindPoint{said.MessageID, render.UserPromptText(said, "")})
	}
	return points
}

// listRewindPoints tells the user which points there are.
func listRewindPoints(points []rewindPoint) string {
	var b strings.Builder
	b.WriteString("`/rewind N` goes back to before prompt N, `/rewind N files` restores the files, too:\n\n")
	for i, p := range points {
		fmt.Fprintf(&b, "%d. %s\n", i+1, render.FirstLine(p.Text))
	}
	return b.String()
}

// rewindFiles asks what going back to before a prompt would do to files: nothing where files are not wanted. Of a message in
// whose turn it edited none droid knows no files, and of another all from there on (0.225): the next ones are asked about, until
// there are some, or droid has forgotten what it edited; what it knows of later ones is not the text of that time. at is the message
// that the answer is about.
func rewindFiles(ctx context.Context, client *droid.Client, session string, p rewindPoint, messages []stream.Message, cwd string, wanted bool) (info droid.RewindInfo, at string, err error) {
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

// turnsFrom are the messages of a history that droid may have worked at, from this one on, each with whether droid edited files then.
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
