package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"droid-acp/internal/sys/files"
)

// Reasons why a file is not a session.
var (
	errDamaged    = errors.New("damaged")      // the first line is not complete JSON
	errForeign    = errors.New("no session")   // something else
	errUnreadable = errors.New("not readable") // the system denies access
)

const (
	// firstRead is enough for the first line of nearly every session, which has the directory and a title of at most 150 characters.
	firstRead = 4 << 10
	// maxHead limits how much of a file is read. The user's first message is at 2 kB in 0.99, and at 12 kB in 0.225 with a home without
	// skills.
	maxHead = 64 << 10
)

// firstRecord is the first line of a session.
type firstRecord struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	// SessionTitle is shown by 0.99, whose title stays the first prompt.
	SessionTitle string `json:"sessionTitle"`
	TitleIsUsers bool   `json:"isSessionTitleManuallySet"`
	// TitleStage is set once a model has named the session.
	TitleStage string `json:"sessionTitleAutoStage"`
	Parent     string `json:"parent"`
	CWD        string `json:"cwd"`
	LastCWD    string `json:"lastCwd"` // the directory in which droid continues, if different
	Caller     string `json:"callingSessionId"`
	// ForkedAt is the message up to which a fork or rewind has its parent's messages, null for none (since 0.215); other sessions do not
	// have the field.
	ForkedAt json.RawMessage `json:"forkedAtMessageId"`
	Host     string          `json:"hostId"` // since 0.215
	// MissionRole is "worker" for a session that a mission runs by itself.
	MissionRole string `json:"decompSessionType"`
}

// parseStart parses the first line of a session.
func parseStart(line []byte) (firstRecord, error) {
	var s firstRecord
	if err := json.Unmarshal(line, &s); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return firstRecord{}, fmt.Errorf("%w: %w", errForeign, err)
		}
		return firstRecord{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if s.Type != "session_start" {
		return firstRecord{}, fmt.Errorf("%w: it begins with %.40q", errForeign, s.Type)
	}
	return s, nil
}

// cwd returns the directory in which droid continues the session.
func (s firstRecord) cwd() string {
	cwd := cmp.Or(s.LastCWD, s.CWD)
	if !filepath.IsAbs(cwd) {
		return ""
	}
	return filepath.Clean(cwd)
}

// head is the information in the beginning of a file.
type head struct {
	firstRecord
	spoken bool   // it has more than injected text, or the head is too short to decide
	prompt string // the user's first text; "" if unknown

	compaction  string    // ID of the summary that the session begins with, "" if none
	compactedAt time.Time // time of that summary
}

func (h head) session(id string, updated time.Time) Session {
	return Session{ID: id, CWD: h.cwd(), Title: h.title(), UpdatedAt: updated}
}

// internal reports whether the user did not start the session or never wrote anything in it, unless a thread of the user continued in it.
func (h head) internal(goesOn bool) bool {
	return h.Caller != "" || h.MissionRole == "worker" || !h.spoken && !goesOn
}

// reader reads the beginnings of files, one at a time.
type reader struct{ buf []byte }

// read reads the beginning of the session at path. If want does not accept the first line, it stops there with an incomplete head; nil
// accepts all.
func (r *reader) read(path string, want func(firstRecord) bool) (head, error) {
	h, err := r.once(path, want)
	if errors.Is(err, errDamaged) {
		// droid writes titles in place: a damaged file may be in the middle of a write.
		return r.once(path, want)
	}
	return h, err
}

func (r *reader) once(path string, want func(firstRecord) bool) (head, error) {
	f, _, err := files.Open(path)
	if err != nil {
		return head{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer func() { _ = f.Close() }() // it is only read
	return r.from(f, want)
}

// from reads a session from its beginning.
func (r *reader) from(f io.Reader, want func(firstRecord) bool) (head, error) {
	if r.buf == nil {
		r.buf = make([]byte, maxHead)
	}
	n, whole, err := fill(f, r.buf[:firstRead], 0)
	if err != nil {
		return head{}, err
	}
	line, rest := firstLine(r.buf[:n])
	if rest == nil && !whole {
		if n, whole, err = fill(f, r.buf, n); err != nil {
			return head{}, err
		}
		if line, rest = firstLine(r.buf[:n]); rest == nil && !whole {
			return head{}, fmt.Errorf("%w: the first line is longer than %d bytes", errForeign, maxHead)
		}
	}
	s, err := parseStart(line)
	if err != nil {
		return head{}, err
	}
	h := head{firstRecord: s}
	if want != nil && !want(s) {
		return h, nil
	}
	if !whole && n < len(r.buf) {
		from := n - len(rest)
		if n, whole, err = fill(f, r.buf, n); err != nil {
			return head{}, err
		}
		rest = r.buf[from:n]
	}
	h.scan(rest, whole)
	return h, nil
}

// fill reads until buf is full or the file ends; it already contains n bytes.
func fill(f io.Reader, buf []byte, n int) (int, bool, error) {
	m, err := io.ReadFull(f, buf[n:])
	if whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); whole || err == nil {
		return n + m, whole, nil
	}
	return n + m, false, fmt.Errorf("%w: %w", errUnreadable, err)
}

// firstLine returns the first line that is not blank and the rest, which is nil if the line does not end.
func firstLine(data []byte) (line, rest []byte) {
	for {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		switch {
		case !ended:
			return line, nil
		case len(bytes.TrimSpace(line)) > 0:
			return line, rest
		}
		data = rest
	}
}

// entry is a line after the first.
type entry struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Time    string `json:"timestamp"`
	Message struct {
		Role       string          `json:"role"`
		Visibility string          `json:"visibility"`
		Content    json.RawMessage `json:"content"`
	} `json:"message"`
}

// scan finds the user's first text in the lines. whole says that the file ends with them.
func (h *head) scan(lines []byte, whole bool) {
	for len(lines) > 0 {
		line, rest, ended := bytes.Cut(lines, []byte("\n"))
		if !ended && !whole {
			break // cut off
		}
		lines = rest
		var e entry
		if json.Unmarshal(line, &e) != nil {
			continue // damaged or incomplete: droid skips it too
		}
		switch {
		case e.Type == "compaction_state":
			if !h.spoken {
				h.compaction = e.ID
				h.compactedAt, _ = time.Parse(time.RFC3339, e.Time) // without a time it stays zero
			}
			h.spoken = true // the summary contains the conversation before
		case e.Type != "message" || e.Message.Visibility == "llm_only" || e.Message.Visibility == "user_only":
		case e.Message.Role == "assistant":
			h.spoken = true
		case e.Message.Role == "user":
			text, said := spokenText(e.Message.Content)
			if !said {
				continue
			}
			h.spoken, h.prompt = true, text
			return
		}
	}
	if !whole {
		h.spoken = true
	}
}

// spokenText returns the text of a user's message without injected blocks, and whether the user wrote anything: a message with tool results
// or injected text only is not the user's.
func spokenText(content json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		text = clean(text)
		return text, strings.TrimSpace(text) != ""
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return "", false
	}
	said := false
	var b strings.Builder
	for _, p := range parts {
		switch p.Type {
		case "image", "document":
			said = true
		case "text":
			b.WriteString(clean(p.Text))
			b.WriteByte('\n')
		}
	}
	text = b.String()
	return text, said || strings.TrimSpace(text) != ""
}
