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

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// An agent stores a message when the message has ended. If the agent or the server ends during a turn, the rest is only in the session's
// journal. Such a journal goes through these states, in this order:
//
//   - written, while the session is open; session.end removes it if the session rests;
//   - kept, in unfinishedDir: moved there by session.keepJournal, or, after a server that was killed, by the next one (loadUnfinished);
//   - shown: a load of the session compares it with what the agent replays, and sends the client what the replay lacks (showUnfinished);
//   - removed: once it was shown, when the session is deleted, or when it is too old or there is too much.

// unfinishedDir is inside the directory of journals.
const unfinishedDir = "unfinished"

// Limits of what is kept there for all sessions together.
const (
	unfinishedSize = 256 << 20
	unfinishedTime = 30 * 24 * time.Hour
)

// maxUnfinished is how many trailing bytes of a turn are shown.
const maxUnfinished = 1 << 20

// journalKey returns the prefix of the names of a session's files.
func journalKey(session string) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:12])
}

// loadUnfinished finds the kept journals, and keeps those of a server that was killed.
func (s *Server) loadUnfinished() error {
	dir := filepath.Join(s.Journals, unfinishedDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.Journals)
	if err != nil {
		return err
	}
	if s.runsBesideAnother() {
		entries = nil // they may be in use
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := os.Rename(filepath.Join(s.Journals, e.Name()), filepath.Join(dir, keptName(e.Name(), s.begun.Add(-1)))); err != nil {
			return err
		}
	}
	if entries, err = os.ReadDir(dir); err != nil {
		return err
	}
	var kept []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			kept = append(kept, info)
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	s.unfinished = map[string][]string{}
	var size int64
	for _, f := range kept {
		if size += f.Size(); size > s.unfinishedSize || time.Since(f.ModTime()) > unfinishedTime {
			_ = os.RemoveAll(filepath.Join(dir, f.Name())) // the next server tries again
			continue
		}
		s.addUnfinished(f.Name())
	}
	return nil
}

// keptName returns the name of a journal in unfinishedDir, from before or after the start of this server: the names of a session's files
// sort by age.
func keptName(name string, at time.Time) string {
	key, rest, _ := strings.Cut(name, "-")
	return fmt.Sprintf("%s-%019d-%s", key, at.UnixNano(), rest)
}

func (s *Server) addUnfinished(name string) {
	key, _, _ := strings.Cut(name, "-")
	s.unfinished[key] = append(s.unfinished[key], filepath.Join(s.Journals, unfinishedDir, name))
}

// keepJournal keeps the journal of a session that ends. The caller holds mu.
func (o *session) keepJournal() {
	s, j := o.server, o.journal
	path := j.file.path
	s.work.Go(func() {
		j.close()
		for _, from := range []string{j.file.old(), path} {
			name := keptName(filepath.Base(from), s.begun)
			if os.Rename(from, filepath.Join(s.Journals, unfinishedDir, name)) == nil { // most have no older half
				s.mu.Lock()
				s.addUnfinished(name)
				s.mu.Unlock()
			}
		}
	})
}

// removeUnfinished removes the kept journals of a session. The caller holds mu.
func (s *Server) removeUnfinished(session string) {
	paths := s.unfinished[journalKey(session)]
	delete(s.unfinished, journalKey(session))
	if paths != nil {
		s.work.Go(func() {
			for _, path := range paths {
				_ = os.Remove(path) // the next server tries again, once it is old
			}
		})
	}
}

// showUnfinished sends the client that loads the session the kept parts that were not replayed, and then calls done, with mu held. It
// returns nil if nothing is kept, otherwise a channel that is closed after that. The caller holds mu.
func (o *session) showUnfinished(done func()) <-chan struct{} {
	s, paths := o.server, o.server.unfinished[journalKey(o.id)]
	if o.loader == nil || o.loader.gone || paths == nil {
		return nil
	}
	journal, end, shown := o.journal, o.journal.put, make(chan struct{})
	s.work.Go(func() {
		defer close(shown)
		text, err := unfinished(o.id, paths, func(line func([]byte)) error {
			return journal.file.read(0, end, func(int64) {}, func(text []byte, _ int64) { line(text) })
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case err != nil:
			o.broadcastText(fmt.Sprintf("What was said here in a turn without an end cannot be shown: %v.", err), nil)
			delete(s.unfinished, journalKey(o.id)) // the next server tries again
		case o.loader != nil && !o.loader.gone:
			if text != "" {
				o.broadcastText("\n\n**Unfinished:** this turn ended with its server or agent. "+s.Agent.HistoryOwnerName()+" has not stored this part of it:\n\n"+text+"\n\n", nil)
			}
			s.removeUnfinished(o.id)
		}
		done()
	})
	return shown
}

// unfinished returns the text of the unfinished turns of a session's journals, without what a replay has shown and what its subagents said.
func unfinished(session string, paths []string, replay func(line func([]byte)) error) (string, error) {
	var replayed conversation
	if err := replay(func(line []byte) {
		if subject(line) == session {
			replayed.addUpdate(updateKind(line))
		}
	}); err != nil {
		return "", err
	}
	turns := map[string]*openTurn{} // by the names of journals
	slices.Sort(paths)
	for _, older := range []bool{true, false} { // the two halves of a journal
		for _, path := range paths {
			name := strings.TrimSuffix(path, oldSuffix)
			if older != (name != path) {
				continue
			}
			turns[name] = cmp.Or(turns[name], &openTurn{session: session})
			if err := readJournal(path, turns[name].add); err != nil {
				return "", err
			}
		}
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(turns)) {
		texts = append(texts, turns[name].missingFrom(replayed)...)
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

// readJournal reads the lines of a file that are valid JSON: the last one may be cut off.
func readJournal(path string, line func([]byte)) error {
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
		case json.Valid(text):
			line(text)
		}
	}
}

// turnPart is a prompt, a message of the agent or a tool call.
type turnPart struct {
	kind string // the kind of its updates
	id   string // the ID of the message or the call; may be "" for a message
	text string // the text, or the title of a call
}

// conversation is a sequence of parts.
type conversation []turnPart

// addUpdate adds an update; only the titles of calls, and no thoughts or messages of the server.
func (c *conversation) addUpdate(kind string, update []byte) {
	switch kind {
	case "user_message_chunk", "agent_message_chunk":
		if string(rawjson.Field(ownMeta(update), "notice")) == "true" {
			return
		}
		p := turnPart{kind, textAt(update, "messageId"), textAt(rawjson.Field(update, "content"), "text")}
		if n := len(*c) - 1; n >= 0 && (*c)[n].kind == p.kind && (*c)[n].id == p.id {
			(*c)[n].text += p.text
			return
		}
		*c = append(*c, p)
	case "tool_call":
		*c = append(*c, turnPart{kind, textAt(update, "toolCallId"), textAt(update, "title")})
	}
}

func ownMeta(update []byte) []byte { return rawjson.Field(rawjson.Field(update, "_meta"), "droid-acp") }

// openTurn is the end of a journal: what follows the end of all prompts, or of all work.
type openTurn struct {
	session string
	said    conversation
	prompts int    // prompts without an end
	prompt  string // the ID of the last one
	rests   bool   // whether the session is idle according to the journal
}

// add adds a line of the journal.
func (t *openTurn) add(line []byte) {
	if working, is := workMark(line); is {
		if t.rests = !working; t.rests {
			*t = openTurn{session: t.session, rests: true}
		}
		return
	}
	if subject(line) != t.session {
		return
	}
	kind, update := updateKind(line)
	own := ownMeta(update)
	switch id := textAt(update, "messageId"); {
	case kind == "user_message_chunk" && textAt(own, "client") != "" && (id == "" || id != t.prompt):
		t.prompts++
		t.prompt = id
	case kind == "session_info_update" && (textAt(own, "stopReason") != "" || textAt(own, "error") != ""):
		if t.prompts = max(t.prompts-1, 0); t.prompts == 0 {
			t.said = nil
		}
	}
	if !t.rests || t.prompts > 0 {
		t.said.addUpdate(kind, update)
	}
}

// missingFrom returns the parts of the turn that a replay lacks, as they are shown. It finds messages by their text and calls by their ID,
// and only after the prompt that began the turn, if there was one: the same text may occur earlier.
func (t *openTurn) missingFrom(replayed conversation) (texts []string) {
	if len(t.said) > 0 && t.said[0].kind == "user_message_chunk" {
		prompt := t.said[0]
		begin := len(replayed)
		for i, p := range replayed {
			if p.kind == prompt.kind && strings.TrimSpace(p.text) == strings.TrimSpace(prompt.text) {
				begin = i
			}
		}
		replayed = replayed[begin:]
	}
	calls, messages := map[string]bool{}, strings.Builder{}
	for _, p := range replayed {
		if p.kind == "tool_call" {
			calls[p.id] = true
		} else {
			messages.WriteString(p.text + "\n")
		}
	}
	for _, p := range t.said {
		switch text := strings.TrimSpace(p.text); {
		case p.kind == "tool_call":
			if !calls[p.id] {
				texts = append(texts, "- "+markdown.Code(visible.Line(p.text)))
			}
		case text == "" || strings.Contains(messages.String(), text):
		case p.kind == "user_message_chunk":
			texts = append(texts, "> "+strings.ReplaceAll(text, "\n", "\n> "))
		default:
			texts = append(texts, text)
		}
	}
	return texts
}

// markWork records in the journal, for openTurn, whether the session works. Clients are not sent that.
func (o *session) markWork() {
	line, err := jsonrpc.EncodeCall(nil, protocol.ActivityMethod, protocol.ActivityParams{SessionID: o.id, Working: o.working})
	if err == nil {
		o.journal.write(line)
	}
}

// workMark returns whether the session works, if a line of a journal says so.
func workMark(line []byte) (working, is bool) {
	h, _ := jsonrpc.ReadHead(line)
	return h.Method == protocol.ActivityMethod && string(rawjson.Field(paramsOf(line, h), "working")) == "true", h.Method == protocol.ActivityMethod
}
