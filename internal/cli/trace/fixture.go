package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"droid-acp/internal/droid/stream"
)

// fixtureMethods are the requests to droid that a fixture may have: the tests answer the others like droid.
var fixtureMethods = []string{methodInitialize, methodPrompt, "droid.interrupt_session", "droid.rename_session"}

const (
	methodInitialize = "droid.initialize_session"
	methodPrompt     = "droid.add_user_message"
)

// droidRequests are the requests of droid that a fixture may have.
var droidRequests = []string{"droid.request_permission", "droid.ask_user"}

// shortestWait is the shortest pause between messages of droid that a fixture has.
const shortestWait = 50 * time.Millisecond

// Fixture writes the messages of one droid as a fixture of the tests (see internal/testing/fixture), without its golden sections: the droid
// with the process id pid or, if that is empty, the one with the most prompts. Requests that no fixture has are left out with their
// responses; the session's directory becomes /workspace and home /home/user.
func (t *Trace) Fixture(w io.Writer, pid, home string) error {
	chosen, err := t.chooseDroid(pid)
	if err != nil {
		return err
	}
	f := &fixtureWriter{home: home, kept: map[string]bool{}}
	for _, r := range t.Records {
		if (connection{r.Agent, r.Peer, r.PID}) == chosen {
			f.add(r)
		}
	}
	switch {
	case !f.begins:
		return fmt.Errorf("droid %d did not open a new session in this trace: record a conversation from its beginning, in a new session", chosen.pid)
	case f.version.IsZero():
		return fmt.Errorf("droid %d names no version of its protocol", chosen.pid)
	}
	fmt.Fprintf(w, "What happens: … (write it here, and remove lines that do not matter)\nCut from a trace of droid-acp %s, %s.\n",
		t.Heads[0].Version, t.Heads[0].Time.Format("2006-01-02"))
	if f.omitted > 0 {
		fmt.Fprintf(w, "%d requests of the agent, which no fixture has, are left out.\n", f.omitted)
	}
	_, err = fmt.Fprintf(w, "-- droid.jsonl --\n! droid unknown protocol %v\n%s", f.version, &f.lines)
	return err
}

// chooseDroid returns the connection of a droid.
func (t *Trace) chooseDroid(pid string) (connection, error) {
	prompts := map[connection]int{}
	var all []connection
	for _, r := range t.Records {
		here := connection{r.Agent, r.Peer, r.PID}
		if r.Peer != Droid || pid != "" && strconv.Itoa(r.PID) != pid {
			continue
		}
		if !slices.Contains(all, here) {
			all = append(all, here)
		}
		var m message
		if r.Dir == Sent && json.Unmarshal(r.Line, &m) == nil && m.Method == methodPrompt {
			prompts[here]++
		}
	}
	if len(all) == 0 {
		return connection{}, fmt.Errorf("no such droid in this trace")
	}
	return slices.MaxFunc(all, func(a, b connection) int { return prompts[a] - prompts[b] }), nil
}

// fixtureWriter is a fixture that is being made.
type fixtureWriter struct {
	home, cwd string
	kept      map[string]bool // ids of requests that are in it
	begins    bool            // the session was opened
	version   stream.Version
	omitted   int
	last      time.Time
	lines     bytes.Buffer
}

func (f *fixtureWriter) add(r Record) {
	var m message
	switch {
	case r.Note == noteClosed && f.begins:
		f.lines.WriteString("! stdin end\n")
		return
	case r.Note == noteEnded && f.begins:
		f.lines.WriteString("! exit\n")
		return
	case r.Line == nil || json.Unmarshal(r.Line, &m) != nil:
		return
	}
	if r.Dir == Received {
		f.noteVersion(r.Line)
	}
	if !f.keeps(r, m) {
		return
	}
	sign := ">"
	if r.Dir == Received {
		sign = "<"
		if pause := r.Time.Sub(f.last); !f.last.IsZero() && pause >= shortestWait {
			fmt.Fprintf(&f.lines, "! wait %v\n", pause.Round(time.Millisecond))
		}
	}
	f.last = r.Time
	fmt.Fprintf(&f.lines, "%s %s\n", sign, f.line(r.Line))
}

// keeps reports whether the fixture has a message.
func (f *fixtureWriter) keeps(r Record, m message) bool {
	key := string(r.Dir) + string(m.ID) // of a request
	switch {
	case m.Method == "":
		asked := Sent
		if r.Dir == Sent {
			asked = Received
		}
		return f.kept[string(asked)+string(m.ID)]
	case r.Dir == Sent && !slices.Contains(fixtureMethods, m.Method), m.ID != nil && r.Dir == Received && !slices.Contains(droidRequests, m.Method):
		f.omitted++
		return false
	}
	if !f.begins && m.Method != methodInitialize {
		return false
	}
	if m.Method == methodInitialize {
		f.begins = true
		var params struct {
			CWD string `json:"cwd"`
		}
		_ = json.Unmarshal(m.Params, &params) // without one nothing is replaced
		f.cwd = params.CWD
	}
	if m.ID != nil {
		f.kept[key] = true
	}
	return true
}

func (f *fixtureWriter) noteVersion(line json.RawMessage) {
	var head struct {
		Version string `json:"factoryProtocolVersion"`
	}
	if json.Unmarshal(line, &head) != nil || head.Version == "" {
		return
	}
	if v, err := stream.ParseVersion(head.Version); err == nil {
		f.version = v
	}
}

var machineID = regexp.MustCompile(`"machineId":"[^"]*"`)

// line returns a message in the form of a fixture: without the fields of the envelope.
func (f *fixtureWriter) line(line json.RawMessage) string {
	var m struct {
		ID     json.RawMessage `json:"id,omitempty"`
		Method json.RawMessage `json:"method,omitempty"`
		Params json.RawMessage `json:"params,omitempty"`
		Result json.RawMessage `json:"result,omitempty"`
		Error  json.RawMessage `json:"error,omitempty"`
	}
	_ = json.Unmarshal(line, &m) // it was decoded before
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(m) // a Buffer takes all
	s := strings.TrimSpace(b.String())
	for _, r := range [][2]string{{f.cwd, "/workspace"}, {f.home, "/home/user"}} {
		s = replacePath(s, r[0], r[1])
	}
	return machineID.ReplaceAllString(s, `"machineId":"m1"`)
}

// replacePath replaces a path, but not as a part of another one.
func replacePath(text, path, with string) string {
	if len(path) < 2 || !utf8.ValidString(path) { // neither a regular expression nor JSON contains such a path
		return text
	}
	whole := regexp.MustCompile(`(^|[^\w.$/-])` + regexp.QuoteMeta(path) + `([^\w.-]|$)`)
	for range 2 { // two matches may share the character between them
		text = whole.ReplaceAllString(text, "${1}"+with+"${2}")
	}
	return text
}
