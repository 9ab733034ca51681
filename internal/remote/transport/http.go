package transport

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// post takes one message. Only initialize is answered in the response; all other answers
// come by a stream.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) *failure {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fail(http.StatusUnsupportedMediaType, "Send the message as Content-Type: application/json.")
	}
	session, f := sessionOf(r)
	if f != nil {
		return f
	}
	text, release, err := h.body(w, r)
	defer release()
	if err != nil {
		return bodyFailure(err)
	}
	m, err := read(text)
	switch {
	case errors.Is(err, errBatch):
		return fail(http.StatusNotImplemented, capital(err.Error())+".")
	case err != nil:
		return fail(http.StatusBadRequest, capital(err.Error())+".")
	}
	if m.Method == "initialize" && r.Header.Get(ConnectionHeader) == "" {
		return h.initialize(w, r, m)
	}
	c, f := h.find(r)
	if f != nil {
		return f
	}
	if m.Method == "initialize" {
		return fail(http.StatusBadRequest, "This connection is initialized already; send initialize without "+ConnectionHeader+" for another one.")
	}
	if f := c.take(m, session); f != nil {
		return f
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// body reads the message. Its client has readLimit for each piece.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) (text []byte, release func(), err error) {
	if r.ContentLength > h.o.MaxMessage {
		return nil, func() {}, &http.MaxBytesError{Limit: h.o.MaxMessage}
	}
	to := http.NewResponseController(w)
	text, release, err = h.bodies.gather(r.Body, h.o.MaxMessage, func() { _ = to.SetReadDeadline(time.Now().Add(readLimit)) })
	if err == nil {
		_ = to.SetReadDeadline(time.Time{})
	}
	return text, release, err
}

func bodyFailure(err error) *failure {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return fail(http.StatusRequestEntityTooLarge, "A message may have "+strconv.FormatInt(large.Limit, 10)+" bytes at most; send large files as resource links.")
	case errors.Is(err, errBusy):
		return fail(http.StatusServiceUnavailable, capital(err.Error())+".")
	}
	return fail(http.StatusBadRequest, "The message did not arrive whole; send it again.")
}

// initialize makes a connection, and answers with what its receiver says.
func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, m message) *failure {
	if m.ID == nil {
		return fail(http.StatusBadRequest, "initialize is a request; give it an id.")
	}
	c := newConnection(h, r.RemoteAddr, m)
	if f := h.enter(c, func() { h.byID[c.id] = c }); f != nil {
		return f
	}
	c.to = h.o.Join(c, h.clientOptions(r))
	go c.run() // Handler.Close waits for it
	c.receive(m.text)
	select {
	case answer := <-c.answer:
		w.Header().Set(ConnectionHeader, c.id)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // who does not read it opens no stream either
		return nil
	case <-c.ended:
		return fail(http.StatusBadGateway, "The agent has not started: "+c.why()+".")
	case <-r.Context().Done():
		c.end("its client left before initialize was answered")
		return fail(http.StatusBadRequest, "The client has left.") // which nobody reads
	}
}

// get opens a stream, and stays until that ends.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) *failure {
	if !acceptsEvents(r) {
		return fail(http.StatusNotAcceptable, "Send Accept: text/event-stream, or Upgrade: websocket.")
	}
	c, f := h.find(r)
	if f != nil {
		return f
	}
	session, f := sessionOf(r)
	if f != nil {
		return f
	}
	var after *uint64
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.ParseUint(id, 10, 63)
		if err != nil {
			return fail(http.StatusBadRequest, "Last-Event-ID is none of this server's; leave it out.")
		}
		after = &n
	}
	if !h.stay() {
		return fail(http.StatusServiceUnavailable, "The server ends; connect again later.")
	}
	defer h.work.Done()
	reader, f := c.attach(r.Context(), session, after)
	if f != nil {
		return f
	}
	left := false
	defer func() { reader.detach(left) }()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy passes each event on at once
	w.WriteHeader(http.StatusOK)
	left = reader.run(r.Context(), w)
	return nil
}

func acceptsEvents(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(line, ",") {
			if kind, _, err := mime.ParseMediaType(kind); err == nil && kind == "text/event-stream" {
				return true
			}
		}
	}
	return false
}

// remove ends a connection.
func (h *Handler) remove(w http.ResponseWriter, r *http.Request) *failure {
	c, f := h.find(r)
	if f != nil {
		return f
	}
	c.end("its client ended it")
	h.mu.Lock()
	delete(h.byID, c.id) // what its client sends from now on finds it no more
	h.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// sessionOf is the session that a request's header names, "" for none.
func sessionOf(r *http.Request) (string, *failure) {
	id := r.Header.Get(SessionHeader)
	if len(id) > maxSessionID || !utf8.ValidString(id) {
		return "", fail(http.StatusBadRequest, "The header "+SessionHeader+" is the id of no session.")
	}
	return id, nil
}

// capital is a text with a large first letter, as a sentence begins.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
