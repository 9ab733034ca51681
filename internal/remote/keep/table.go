package keep

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/text/visible"
)

const (
	shortID  = 8  // shown characters of a session's ID, unless another one begins with the same
	maxTitle = 60 // shown characters of a title or a question
)

// WriteTable writes what a server runs. home is shown as "~".
func WriteTable(w io.Writer, s serve.Status, home string, now time.Time) error {
	if len(s.Sessions) == 0 {
		_, err := fmt.Fprintf(w, "The server runs (process %d) and has no sessions.\n", s.Process)
		return err
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "SESSION\tSTATE\tWHO IS THERE\tDIRECTORY\tTITLE")
	for _, session := range s.Sessions {
		who := "nobody"
		if len(session.Clients) > 0 {
			who = strings.Join(session.Clients, ", ")
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", cell(short(s, session.ID)), cell(stateText(session, now)), cell(who),
			cell(tilde(session.Directory, home)), cell(cut(session.Title)))
	}
	return columns.Flush()
}

// cell returns a text without terminal control characters and tabs.
func cell(text string) string { return strings.ReplaceAll(visible.Line(text), "\t", " ") }

// stateText returns what a session does, and for how long.
func stateText(s serve.SessionInfo, now time.Time) string {
	text := s.State + " " + roughly(now.Sub(s.Since))
	if s.Question != "" {
		text += ": " + cut(s.Question)
	}
	return text
}

// roughly formats a duration in its largest unit.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func cut(text string) string {
	if letters := []rune(text); len(letters) > maxTitle {
		return string(letters[:maxTitle-1]) + "…"
	}
	return text
}

// tilde replaces the home directory by "~".
func tilde(path, home string) string {
	rest, below := strings.CutPrefix(path, home)
	if home == "" || !below || rest != "" && rest[0] != filepath.Separator {
		return path
	}
	return "~" + rest
}

// short returns the shortest unambiguous beginning of an ID, of at least shortID characters.
func short(s serve.Status, id string) string {
	n := shortID
	for _, other := range s.Sessions {
		for other.ID != id && n < len(id) && strings.HasPrefix(other.ID, id[:n]) {
			n++
		}
	}
	return id[:min(n, len(id))]
}

// Find returns the session whose ID begins with id. Its error lists the sessions.
func Find(s serve.Status, id string, command relay.Command) (found serve.SessionInfo, err error) {
	var all []serve.SessionInfo
	for _, session := range s.Sessions {
		switch {
		case session.ID == id:
			return session, nil
		case id != "" && strings.HasPrefix(session.ID, id):
			all = append(all, session)
		}
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return found, fmt.Errorf("the ids of %d sessions begin with %s; give more of it", len(all), id)
	case len(s.Sessions) == 0:
		return found, fmt.Errorf("no session %s is open here; the server has none (%s)", id, command("ps"))
	}
	names := make([]string, len(s.Sessions))
	for i, session := range s.Sessions {
		names[i] = short(s, session.ID)
	}
	return found, fmt.Errorf("no session %s is open here; %s shows %s", id, command("ps"), strings.Join(names, ", "))
}

// Newest returns the session whose state changed last.
func Newest(s serve.Status, command relay.Command) (newest serve.SessionInfo, err error) {
	if len(s.Sessions) == 0 {
		return newest, fmt.Errorf("no session is open; %s begins one", command("attach", "--new", "."))
	}
	return slices.MaxFunc(s.Sessions, func(a, b serve.SessionInfo) int { return a.Since.Compare(b.Since) }), nil
}
