package droids

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fixture"
)

// Recorded are the recorded conversations with one version of droid.
type Recorded struct {
	Version  string // of droid, such as "0.225.2"
	Protocol stream.Version
	Talks    map[string]Talk // by scenario
}

// Talk is the messages of one conversation.
type Talk []Said

// Said is one message.
type Said struct {
	Dir fixture.Dir
	// Kind is the kind of message: a notification's type, "request METHOD" of droid, "answer to METHOD", "refusal of METHOD", "refusal of
	// nothing" if it names no request, or the method of a request to droid.
	Kind string
	// Label is the kind with what distinguishes two messages of a kind, such as a state.
	Label string
	// Body is the notification, the params, the result or the error.
	Body map[string]any
	// ID is the ID of the request, or of the answered request; "" if none.
	ID string
	// Session is the session of a notification; "" if it names none.
	Session string
}

// Load reads the recordings of a version.
func Load(dir, version string) (*Recorded, error) {
	all, err := fixture.LoadArchive(filepath.Join(dir, "recordings", version+".txtar"))
	if err != nil {
		return nil, err
	}
	r := &Recorded{Version: version, Talks: map[string]Talk{}}
	for _, c := range all {
		if c.Version != version {
			return nil, fmt.Errorf("recording %s of %s is one of %s", c.Name, version, c.Version)
		}
		r.Protocol = c.Protocol
		if r.Talks[c.Name], err = talkOf(c.Steps); err != nil {
			return nil, fmt.Errorf("recording %s of %s: %w", c.Name, version, err)
		}
	}
	return r, nil
}

// LoadAll reads the recordings of all versions, the oldest first.
func LoadAll(dir string) ([]*Recorded, error) {
	names, err := filepath.Glob(filepath.Join(dir, "recordings", "*.txtar"))
	if err != nil {
		return nil, err
	}
	var all []*Recorded
	for _, name := range names {
		r, err := Load(dir, strings.TrimSuffix(filepath.Base(name), ".txtar"))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Recorded) int { return CompareVersions(a.Version, b.Version) })
	return all, nil
}

// CompareVersions orders versions of droid.
func CompareVersions(a, b string) int {
	x, _ := stream.ParseVersion(a)
	y, _ := stream.ParseVersion(b)
	return cmp.Or(cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor), cmp.Compare(x.Patch, y.Patch))
}

// Write writes the lines of conversations with a version, in the format of package fixture. Existing recordings of other scenarios are
// kept.
func Write(dir, version string, talks map[string][]string) error {
	path := filepath.Join(dir, "recordings", version+".txtar")
	if before, err := txtar.ParseFile(path); err == nil {
		for _, f := range before.Files {
			name := strings.TrimSuffix(f.Name, ".jsonl")
			_, err := os.Stat(filepath.Join(dir, "scenarios", name+".json"))
			if _, anew := talks[name]; !anew && err == nil {
				talks[name] = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			}
		}
	}
	var archive txtar.Archive
	for _, name := range sorted(talks) {
		archive.Files = append(archive.Files, txtar.File{Name: name + ".jsonl", Data: []byte(strings.Join(talks[name], "\n") + "\n")})
	}
	return os.WriteFile(path, txtar.Format(&archive), 0o644)
}

func talkOf(steps []fixture.Step) (Talk, error) {
	var talk Talk
	asked := map[string]string{} // methods by request ID
	for _, step := range steps {
		if step.Msg == nil {
			talk = append(talk, Said{Dir: step.Dir, Kind: step.Note, Label: step.Note})
			continue
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params map[string]any
			Result any
			Error  map[string]any
		}
		if err := json.Unmarshal(step.Msg, &m); err != nil {
			return nil, err
		}
		s := Said{Dir: step.Dir, Kind: stream.KindOf(m.Method), Body: m.Params, ID: strings.Trim(string(m.ID), `"`)}
		method, known := asked[s.ID]
		if !known {
			method = "nothing"
		}
		switch notification, _ := m.Params["notification"].(map[string]any); {
		case step.Dir == fixture.ToDroid && m.Method != "":
			asked[s.ID] = s.Kind
		case notification != nil:
			s.Body = notification
			s.Session, _ = m.Params["sessionId"].(string)
			s.Kind, _ = notification["type"].(string)
		case m.Method != "":
			s.Kind = "request " + s.Kind
		case m.Error != nil:
			s.Kind, s.Body = "refusal of "+method, m.Error
		default:
			s.Kind = "answer to " + method
			s.Body, _ = m.Result.(map[string]any)
		}
		s.Label = labelOf(s)
		talk = append(talk, s)
	}
	return talk, nil
}

// telling are the fields whose values distinguish two messages of a kind.
var telling = []string{"newState", "reason", "phase", "role", "visibility", "isError", "selectedOption", "updateType", "code"}

func labelOf(s Said) string {
	words := []string{s.Kind}
	from := s.Body
	if message, ok := s.Body["message"].(map[string]any); ok {
		from = message
	}
	for _, name := range telling {
		if value, there := from[name]; there && value != nil {
			words = append(words, fmt.Sprint(value))
		}
	}
	for _, list := range []struct{ name, field string }{{"content", "type"}, {"toolUses", "confirmationType"}, {"options", "value"}} {
		items, _ := from[list.name].([]any)
		for _, item := range items {
			item, _ := item.(map[string]any)
			words = append(words, fmt.Sprint(item[list.field]))
		}
	}
	return strings.Join(words, " ")
}

// of returns droid's messages of a kind.
func (t Talk) of(kind string) (found []Said) {
	for _, s := range t {
		if s.Dir == fixture.FromDroid && s.Kind == kind {
			found = append(found, s)
		}
	}
	return found
}

// at returns the index of the first message from an index on whose label has this prefix, or -1.
func (t Talk) at(from int, label string) int {
	for i := max(from, 0); i < len(t); i++ {
		if strings.HasPrefix(t[i].Label, label) {
			return i
		}
	}
	return -1
}

// nth returns the index of the client's nth request of a method, from 1.
func (t Talk) nth(method string, n int) int {
	for i, s := range t {
		if s.Dir == fixture.ToDroid && s.Kind == method {
			if n--; n == 0 {
				return i
			}
		}
	}
	return len(t)
}

// Fields returns the fields of a message by path, each with its value, or "" for an object.
func (s Said) Fields() map[string]string {
	found := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, one := range v {
				to := name
				if path != "" {
					to = path + "." + name
				}
				if free[name] { // its content comes from the scenario or a tool
					found[to] = ""
					continue
				}
				walk(to, one)
			}
		case []any:
			found[path] = "[]"
			for _, one := range v {
				walk(path+"[]", one)
			}
		default:
			found[path] = fmt.Sprint(v)
		}
	}
	walk("", s.Body)
	delete(found, "")
	return found
}

// free are the fields whose values may have arbitrary fields.
var free = map[string]bool{"input": true, "inputSchema": true, "env": true, "parameters": true}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
