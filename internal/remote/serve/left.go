package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// An agent stores what it said when it has said it. What it was saying when it ended, or its server, only the session's
// journal has. So the journal of a turn without an end stays, in leftDir, until the session is loaded: then it shows
// what the agent has not stored.

// leftDir is where such journals are, in the journals' directory.
const leftDir = "left"

// What is kept there of all sessions together.
const (
	leftSize = 256 << 20
	leftTime = 30 * 24 * time.Hour
)

// maxUnfinished is how many bytes are shown of a turn without an end: the last ones.
const maxUnfinished = 1 << 20

// keyOf is what the names of a session's files begin with.
func keyOf(session string) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:12])
}

// takeOver moves the journals of a server that was killed to leftDir, and finds those that are there already. What is too
// old or too much is removed.
func (s *Server) takeOver() error {
	left := filepath.Join(s.Journals, leftDir)
	if err := os.MkdirAll(left, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.Journals)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := os.Rename(filepath.Join(s.Journals, e.Name()), filepath.Join(left, leftName(e.Name(), s.begun.Add(-1)))); err != nil {
			return err
		}
	}
	s.left = map[string][]string{}
	files, err := os.ReadDir(left)
	if err != nil {
		return err
	}
	type file struct {
		name string
		size int64
		at   time.Time
	}
	var all []file
	for _, e := range files {
		if info, err := e.Info(); err == nil {
			all = append(all, file{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b file) int { return b.at.Compare(a.at) })
	var size int64
	for _, f := range all {
		if size += f.size; size > s.leftSize || time.Since(f.at) > leftTime {
			_ = os.RemoveAll(filepath.Join(left, f.name)) // the next server tries again
			continue
		}
		s.addLeft(f.name)
	}
	return nil
}

// leftName is the name that a journal has in leftDir, from before or after the time when this server began: the names of
// a session's files sort by their age.
func leftName(name string, at time.Time) string {
	key, rest, _ := strings.Cut(name, "-")
	return fmt.Sprintf("%s-%019d-%s", key, at.UnixNano(), rest)
}

func (s *Server) addLeft(name string) {
	key, _, _ := strings.Cut(name, "-")
	s.left[key] = append(s.left[key], filepath.Join(s.Journals, leftDir, name))
}

// leave has the session's journal outlive it. The caller holds mu.
func (o *session) leave() {
	s, j := o.server, o.journal
	path := j.file.path
	s.work.Go(func() {
		j.close()
		for _, from := range []string{j.file.old(), path} {
			name := leftName(filepath.Base(from), s.begun)
			if os.Rename(from, filepath.Join(s.Journals, leftDir, name)) == nil { // most have no old half
				s.mu.Lock()
				s.addLeft(name)
				s.mu.Unlock()
			}
		}
	})
}

// forget removes what is left of a session. The caller holds mu.
func (s *Server) forget(session string) {
	paths := s.left[keyOf(session)]
	delete(s.left, keyOf(session))
	if paths != nil {
		s.work.Go(func() {
			for _, path := range paths {
				_ = os.Remove(path) // the next server tries again, when it is old
			}
		})
	}
}

// showLeft shows who loads a session what is left of it and the agent has not told, and then calls done, with mu held.
// It returns nil where nothing is left, else a channel that is closed after that. The caller holds mu.
func (o *session) showLeft(done func()) <-chan struct{} {
	s, paths := o.server, o.server.left[keyOf(o.id)]
	if o.loader == nil || o.loader.gone || paths == nil {
		return nil
	}
	journal, end, shown := o.journal, o.journal.put, make(chan struct{})
	s.work.Go(func() {
		defer close(shown)
		text, err := unfinished(paths, func(line func([]byte)) error {
			return journal.file.read(0, end, func(int64) {}, line)
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case err != nil:
			o.say(fmt.Sprintf("What was said here in a turn without an end cannot be shown: %v.", err), nil)
			delete(s.left, keyOf(o.id)) // the next server tries again
		case o.loader != nil && !o.loader.gone:
			if text != "" {
				o.say("\n\n**Unfinished:** this turn ended with its server or agent. "+s.Agent.Keeper()+" has not stored this part of it:\n\n"+text+"\n\n", nil)
			}
			s.forget(o.id)
		}
		done()
	})
	return shown
}

// unfinished is what journals have of their last turns, which have no end, and replay has not: prompts, texts of the
// agent, and tool calls by their titles. A line that is not whole is left out, as the last one after a crash.
func unfinished(paths []string, replay func(line func([]byte)) error) (string, error) {
	turns := map[string]*turnText{}
	slices.Sort(paths)
	for _, older := range []bool{true, false} { // the halves of a journal
		for _, path := range paths {
			name := strings.TrimSuffix(path, oldSuffix)
			if older != (name != path) {
				continue
			}
			turns[name] = cmp.Or(turns[name], &turnText{halved: older})
			if err := readLeft(path, turns[name].add); err != nil {
				return "", err
			}
		}
	}
	var stored turnText
	if err := replay(stored.add); err != nil {
		return "", err
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(turns)) {
		texts = append(texts, turns[name].without(&stored)...)
	}
	text := strings.Join(texts, "\n\n")
	if begin := len(text) - maxUnfinished; begin > 0 {
		for !utf8.RuneStart(text[begin]) {
			begin++
		}
		text = "…" + text[begin:]
	}
	return text, nil
}

func readLeft(path string, line func([]byte)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := jsonrpc.NewLines(file, relay.MaxLine, func([]byte) {})
	for {
		text, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, new(*jsonrpc.TooLongError)):
		case err != nil:
			return err
		default:
			line(text)
		}
	}
}

// turnText is what updates say, from the first prompt on that has no end yet.
type turnText struct {
	parts  []turnPart
	open   int    // prompts without an end
	last   string // the message of the last prompt
	halved bool   // something may have been before
	marked bool   // a prompt or an end was there
}

// turnPart is a prompt, a text or a tool call.
type turnPart struct {
	kind string // of the update
	id   string // of the message or the call; may be "" for a message
	text string // or the title
}

// add adds a line of a journal.
func (t *turnText) add(line []byte) {
	if !json.Valid(line) {
		return
	}
	kind, update := updateKind(line)
	own := rawjson.Field(rawjson.Field(update, "_meta"), "droid-acp")
	content := rawjson.Field(update, "content")
	switch kind {
	case "user_message_chunk":
		id := textAt(update, "messageId")
		if textAt(own, "client") != "" && (id == "" || id != t.last) {
			if t.open == 0 {
				t.parts = nil
			}
			t.marked = true
			t.open++
			t.last = id
		}
		t.text(turnPart{kind, id, textAt(content, "text")})
	case "agent_message_chunk":
		if string(rawjson.Field(own, "notice")) != "true" {
			t.text(turnPart{kind, textAt(update, "messageId"), textAt(content, "text")})
		}
	case "tool_call":
		t.parts = append(t.parts, turnPart{kind, textAt(update, "toolCallId"), textAt(update, "title")})
	case "session_info_update":
		if textAt(own, "stopReason") != "" || textAt(own, "error") != "" {
			t.open, t.marked = max(t.open-1, 0), true
		}
	}
}

// text adds a piece of a message.
func (t *turnText) text(p turnPart) {
	if n := len(t.parts) - 1; n >= 0 && t.parts[n].kind == p.kind && t.parts[n].id == p.id {
		t.parts[n].text += p.text
		return
	}
	t.parts = append(t.parts, p)
}

// without returns the parts of a turn without an end that are not stored, as they are shown. A message is compared by its
// text, a call by its id, both behind the prompt, since the same may have been said before.
func (t *turnText) without(stored *turnText) (texts []string) {
	if len(t.parts) == 0 || t.open == 0 && (t.marked || !t.halved) {
		return nil
	}
	from := len(stored.parts)
	if t.open == 0 { // its prompt is no longer there
		from = 0
	}
	for i, p := range stored.parts {
		if p.kind == t.parts[0].kind && strings.TrimSpace(p.text) == strings.TrimSpace(t.parts[0].text) {
			from = i
		}
	}
	calls, said := map[string]bool{}, strings.Builder{}
	for _, p := range stored.parts[from:] {
		if p.kind == "tool_call" {
			calls[p.id] = true
		} else {
			said.WriteString(p.text + "\n")
		}
	}
	for _, p := range t.parts {
		switch text := strings.TrimSpace(p.text); {
		case p.kind == "tool_call":
			if !calls[p.id] {
				texts = append(texts, "- "+markdown.Code(visible.Line(p.text)))
			}
		case text == "" || strings.Contains(said.String(), text):
		case p.kind == "user_message_chunk":
			texts = append(texts, "> "+strings.ReplaceAll(text, "\n", "\n> "))
		default:
			texts = append(texts, text)
		}
	}
	return texts
}
