package droid

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/jsonrpc/flight"
	"droid-acp/internal/sys/memory"
)

// countingReader counts read calls, so that drainStdout can distinguish a reader that waits for droid from one that waits for the reader of
// Events.
type countingReader struct{ c *Client }

func (r countingReader) Read(p []byte) (int, error) {
	r.c.reads.Add(1)
	defer r.c.reads.Add(1)
	return r.c.stdout.Read(p)
}

// lineHead is how many bytes of a too long line are kept.
const lineHead = 4 << 10

// read is the reader goroutine: it decodes droid's stdout, in lines of at most longest bytes (droid's have several MB, quirk 27), and
// passes responses to their calls and events to Events.
func (c *Client) read(longest int) {
	defer close(c.readDone)
	defer c.failFirst()
	var head []byte // the beginning of a too long line
	lines := jsonrpc.NewLines(countingReader{c}, longest, func(piece []byte) {
		head = append(head, piece[:min(len(piece), lineHead-len(head))]...)
	})
	var l lineReader
	for {
		data, err := lines.Next()
		switch {
		case err != nil:
			c.flushText(&l)
			tooLong, is := errors.AsType[*jsonrpc.TooLongError](err)
			if !is {
				if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
					c.log.Warn("reading from droid", zap.Error(err))
				}
				return
			}
			c.handleLost(tooLong.Size, head)
			head = nil
		case len(data) > 0 && l.appendText(data):
		case len(data) > 0:
			c.flushText(&l)
			c.handle(&l, data, lines.Owned())
			size := len(data)
			data = nil
			memory.ReleaseAfter(size) // the event does not alias the line
		}
		if !lines.Buffered() {
			c.flushText(&l)
		}
	}
}

// maxNoise is how many invalid lines are logged one by one; the log entry of droid's exit has their number.
const maxNoise = 20

// malformed counts an invalid line. The log says where it is invalid, not what it contains.
func (c *Client) malformed(err error, data []byte) {
	n := c.noMessages.Add(1)
	if n > maxNoise {
		return
	}
	text := "droid wrote a line that is no message"
	if n == maxNoise {
		text += "; further ones are only counted"
	}
	fields := []zap.Field{zap.Error(err), zap.Int("bytes", len(data))}
	if syntax, is := errors.AsType[*json.SyntaxError](json.Unmarshal(data, new(json.RawMessage))); is && len(data) > 0 {
		fields = append(fields, zap.Int64("at", syntax.Offset))
	}
	c.log.Warn(text, fields...)
}

// lineReader is the reader goroutine's state between lines: what it last reported to the client, and a text that the next line may
// continue.
type lineReader struct {
	decoder stream.Decoder
	started bool
	version stream.Version
	session string // its id

	hasText bool             // there is a pending text:
	delta   stream.TextDelta // its first line
	text    strings.Builder  // the whole text, once there is a second line
	further int              // number of lines after the first one
}

// appendText handles a line that continues the text. Lines that are read together become one event, so that each of them costs only its own
// decoding.
func (l *lineReader) appendText(data []byte) bool {
	if !l.hasText {
		return false
	}
	if l.text.Len() == 0 {
		l.text.WriteString(l.delta.Text)
	}
	if !l.decoder.More(&l.text, data) {
		return false
	}
	l.further++
	return true
}

// flushText emits the pending text, if there is one.
func (c *Client) flushText(l *lineReader) {
	if !l.hasText {
		return
	}
	if l.text.Len() > 0 {
		l.delta.Text = l.text.String()
		l.text.Reset()
	}
	c.flight.More(flight.In, seriesOf(l.delta), l.further, len(l.delta.Text))
	l.hasText, l.further = false, 0
	c.emit(l.delta)
}

// handle processes one line. owned says that the line's memory is not reused.
func (c *Client) handle(l *lineReader, data []byte, owned bool) {
	line, err := l.decoder.Decode(data, owned)
	c.flight.Add(flight.In, seriesOf(line.Event), data)
	if err != nil {
		c.malformed(err, data)
		return
	}
	if !l.started || line.Version != l.version {
		l.started, l.version = true, line.Version
		c.setVersion(line.Version)
	}
	if line.Response != nil {
		c.respond(line.Response)
		return
	}
	if line.SessionID != "" && line.SessionID != l.session {
		l.session = line.SessionID
		c.noteSession(line.SessionID)
	}
	for _, what := range line.UnknownFields {
		c.noteUnknown(what)
	}
	switch e := line.Event.(type) {
	case stream.TextDelta:
		l.hasText, l.delta = true, e
		return
	case stream.Unknown:
		c.unknown(e, line)
	case stream.WorkingStateChanged:
		c.noteState(e.State)
	case stream.MCPStatusChanged:
		if !isClosed(c.serversSeen) {
			close(c.serversSeen)
		}
		e.Opened = c.hasAnswered()
		line.Event = e
	case stream.HookStarted, stream.HookCompleted:
		if c.sessionClosing.Load() {
			return
		}
	}
	c.check(line.Event)
	c.settings.handle(line.Event, line.Version)
	c.emit(line.Event)
}

// seriesOf returns the flight.Series of an event: deltas of one message belong together.
func seriesOf(ev stream.Event) flight.Series {
	if delta, is := ev.(stream.TextDelta); is {
		return flight.Series{Kind: delta.Kind(), ID: delta.MessageID}
	}
	return flight.Series{}
}

func (c *Client) noteState(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setBusy(state != stream.StateIdle)
}

// hasAnswered reports whether droid has answered the latest call that opened a session.
func (c *Client) hasAnswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.answered
}

func (c *Client) setVersion(v stream.Version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.version.IsZero() {
		c.state.version = v
	}
	if !c.state.started {
		c.state.started = true
		c.log.Info("droid speaks", zap.Stringer("protocol", v))
		if untried := v.Untried(); untried != "" {
			c.log.Warn("this droid " + untried)
		}
	}
}

// noteUnknown counts something in droid's output that is in no table, and logs its first occurrence.
func (c *Client) noteUnknown(what string) {
	if len(what) > maxUnknownName {
		what = strings.ToValidUTF8(what[:maxUnknownName], "") + "…"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.state.unknownFields) >= maxUnknownFields && c.state.unknownFields[what] == 0 {
		what = "more of that"
	}
	if c.state.unknownFields[what]++; c.state.unknownFields[what] == 1 {
		c.log.Info("droid sent something that is in no table of droid-acp", zap.String("what", what), zap.Stringer("protocol", c.state.version))
	}
}

const (
	// maxUnknownFields is how many different names are counted.
	maxUnknownFields = 50
	// maxUnknownName is how many bytes of a name are kept.
	maxUnknownName = 100
)

// UnknownFields returns what this droid sent that is in no table, such as "field hurry of tool_result", with the number of occurrences.
func (c *Client) UnknownFields() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.state.unknownFields)
}

// noteSession records the session ID of a notification, and reports when the process has moved to a session without a call. IDs of earlier
// sessions may still appear: agent_turn_completed of the old one comes last.
func (c *Client) noteSession(id string) {
	if !stream.ValidSessionID(id) {
		c.log.Warn("droid sent an invalid session ID", zap.String("session", id[:min(len(id), 80)]))
		return
	}
	c.mu.Lock()
	from := c.state.session
	known := c.state.sessions[id]
	c.state.sessions[id] = true
	if !known {
		c.state.session = id
	}
	c.mu.Unlock()
	if !known && from != "" {
		c.emit(stream.SessionSwitched{From: from, To: id})
	}
}

// unknown logs an event without a type, and refuses it if it is a request: droid waits for an answer to each.
func (c *Client) unknown(e stream.Unknown, line stream.Line) {
	c.log.Debug("droid sent an unknown message", zap.String("type", e.Type), zap.Error(e.Err), zap.Int("bytes", len(e.Raw)))
	if line.RequestID == nil {
		return
	}
	code, text := jsonrpc.CodeMethodNotFound, "Method not found"
	if line.Invalid {
		code, text = jsonrpc.CodeInvalidParams, "Invalid params"
	}
	if data, err := encodeError(line.RequestID, code, text); err == nil {
		c.out.Put(data) // it fails only when droid has exited, and then nothing waits
	}
}

// emit delivers an event. It waits for the reader of Events, but not indefinitely once the client is closing.
func (c *Client) emit(e stream.Event) {
	defer c.notify()
	select {
	case c.events <- e:
		return
	default:
	}
	select {
	case c.events <- e:
		return
	case <-c.closing:
	}
	if c.dropped.Load() == 0 {
		select {
		case c.events <- e:
			return
		case <-time.After(c.bounds.stall):
		}
	}
	select {
	case c.events <- e:
	default:
		c.dropped.Add(1)
	}
}

// codeLost is the code of the RPCError of a call whose answer was too long: what droid did is unknown. droid's own codes are negative.
const codeLost = 1

// handleLost handles a skipped line that is too long. If its beginning shows that it answers a call, the call fails. If it is a request,
// droid gets an error. Any line but an answer becomes a Lost event.
func (c *Client) handleLost(size int64, head []byte) {
	c.noMessages.Add(1)
	begin := stream.ReadLineHead(head)
	c.log.Warn("skipped a line of droid that is too long", zap.Int64("bytes", size), zap.String("type", begin.Kind))
	var id string
	_ = json.Unmarshal(begin.ID, &id) // without a valid ID nothing waits for an answer
	switch {
	case id != "" && begin.Response:
		c.respond(&stream.Response{ID: id, Err: &stream.RPCError{Code: codeLost,
			Message: fmt.Sprintf("droid's answer of %.1f MB is too long; %.1f MB can be read", float64(size)/1e6, stream.MaxLine/1e6)}})
		return
	case id != "":
		if data, err := encodeError(begin.ID, jsonrpc.CodeInvalidParams, "The request is too long"); err == nil {
			c.out.Put(data) // it fails only when droid has exited, and then nothing waits
		}
	}
	c.emit(stream.Lost{Type: begin.Kind, Size: size})
}
