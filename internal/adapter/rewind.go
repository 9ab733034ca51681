package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
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
			points[n-1].Text += show.UserWords(said, "")
			continue
		}
		points = append(points, rewindPoint{said.MessageID, show.UserWords(said, "")})
	}
	return points
}

// listRewindPoints tells the user which points there are.
func listRewindPoints(points []rewindPoint) string {
	var b strings.Builder
	b.WriteString("`/rewind N` goes back to before prompt N, `/rewind N files` restores the files, too:\n\n")
	for i, p := range points {
		fmt.Fprintf(&b, "%d. %s\n", i+1, show.FirstLine(p.Text))
	}
	return b.String()
}

// rewindFiles asks what going back to before a prompt would do to files: nothing where files are not wanted. Of a message in
// whose turn it edited none droid knows no files, and of another all from there on (0.225): the next ones are asked about, until
// there are some, or droid has forgotten what it edited; what it knows of later ones is not the text of that time.
func rewindFiles(ctx context.Context, client *droid.Client, session string, p rewindPoint, messages []stream.Message, cwd string, wanted bool) (info droid.RewindInfo, err error) {
	for id, edits := range turnsFrom(messages, p.MessageID, cwd) {
		info, err = client.RewindInfo(ctx, session, id)
		if err != nil || !wanted || edits || len(info.Available)+len(info.Created)+len(info.Evicted) > 0 {
			break
		}
	}
	var refused *stream.RPCError
	if !wanted && (err == nil || errors.As(err, &refused)) {
		// 0.99 knows no files after it has loaded a session; the
		// conversation can be rewound all the same.
		return droid.RewindInfo{Evicted: info.Evicted}, nil
	}
	return info, err
}

// turnsFrom are the messages of a history that droid may have worked at, from this one on, each with whether droid edited files then.
func turnsFrom(messages []stream.Message, from, cwd string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		turn, edits, calls := "", false, map[string]bool{}
		for _, m := range messages {
			first := turn == "" && m.ID == from
			starts := first || turn != "" && m.Role != stream.RoleAssistant && m.ID != "" && m.ID != turn
			for _, b := range m.Content {
				call := quirks.CallOf(b)
				edits = edits || calls[call] && !quirks.CallFailed(b)
				if b.Type == "tool_use" && len(show.EditedFiles(b.Name, b.Input, cwd)) > 0 {
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

// rewoundFiles are the files that going back changes, as droid names them. Its answer says what they were, and not what the
// user has done with them since, which going back undoes, too: a file that was written later than droid's last edit of it
// ended counts as changed. It looks at the disk.
func (a *Agent) rewoundFiles(ctx context.Context, info droid.RewindInfo, messages []stream.Message, cwd string) (all []show.RewoundFile) {
	for deleted, list := range [][]json.RawMessage{info.Available, info.Created} {
		for _, raw := range list {
			var file struct {
				Path string `json:"filePath"`
			}
			if json.Unmarshal(raw, &file) != nil || file.Path == "" {
				continue
			}
			path := paths.Absolute(cwd, file.Path) // of files below the directory droid has the rest of it
			f := show.RewoundFile{Path: path, Deleted: deleted == 1}
			on, err := files.Within(ctx, a.calls, "stat", path, a.opener.Stat)
			switch since := lastEdit(messages, path, cwd); {
			case errors.Is(err, fs.ErrNotExist):
				f.Since = show.FileGone
			case err != nil || since.IsZero():
				f.Since = show.FileUnknown
			case on.ModTime().After(since.Add(time.Second)):
				f.Since = show.FileChanged
			}
			all = append(all, f)
		}
	}
	return all
}

// lastEdit is when droid's last edit of a file had ended, by a history; zero where that does not tell.
func lastEdit(messages []stream.Message, path, cwd string) (at time.Time) {
	edits := map[string]bool{}
	for _, m := range messages {
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_use" && slices.Contains(show.EditedFiles(b.Name, b.Input, cwd), path):
				edits[b.ID] = true
			case b.Type == "tool_result" && edits[quirks.CallOf(b)] && m.CreatedAt > 0:
				at = time.UnixMilli(int64(m.CreatedAt))
			}
		}
	}
	return at
}

// rewindBefore has droid go back in a session to before a prompt, with these files. It
// returns what became of the files, and the new session, which gets the title, if there is one.
func rewindBefore(ctx context.Context, client *droid.Client, session, title string, p rewindPoint, info droid.RewindInfo) (text, to string, err error) {
	r, err := client.Rewind(ctx, session, p.MessageID, cmp.Or(title, show.FirstLine(p.Text)), info)
	if err != nil {
		return "", "", err
	}
	text = fmt.Sprintf("Files restored: %d, deleted: %d.", r.Restored, r.Deleted)
	if failed := r.FailedRestores + r.FailedDeletes; failed > 0 {
		text += fmt.Sprintf(" Not restored or deleted: %d.", failed)
	}
	if lost := len(info.Evicted); lost > 0 {
		text += fmt.Sprintf(" Old contents that droid no longer has: %d.", lost)
	}
	return text, r.NewSessionID, nil
}
