// Package modelserver is a scripted language model on loopback, so that tests can run the real droid without a login and without a network.
// Its main type is Server, with one script of Steps for each prompt; the e2e tests and the adapter's benchmarks use it. It implements the
// APIs that droid knows for a custom model (see Provider).
package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Server is a model with scripted answers. All methods may be called from any goroutine.
type Server struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{} // closed when the accept loop has ended
	calls    sync.WaitGroup

	mu       sync.Mutex
	places   [][2]string // see Elsewhere
	scripts  []*script
	requests []Request
	changed  chan struct{} // closed and replaced at each request
}

// script has the model's answers to a prompt, step by step.
type script struct {
	prompt string
	steps  []Step
	used   []int // number of calls that each step answered
}

// next returns the index of the step after this many answers of the model, not counting used up steps, or len(steps) if there is none left.
func (s *script) next(answers int) int {
	for i, step := range s.steps {
		if step.Times > 0 && s.used[i] >= step.Times {
			continue
		}
		if answers == 0 {
			s.used[i]++
			return i
		}
		answers--
	}
	return len(s.steps)
}

// Request is one call that the server received.
type Request struct {
	Time     time.Time
	Prompt   string // prompt of the script that answered, "" if none did
	Step     int    // index in that script
	Side     bool   // one of droid's auxiliary calls (a title)
	Messages []Message
	Tools    []string // names offered to the model
	Body     json.RawMessage
	Ended    <-chan struct{} `json:"-"` // closed when the answer has ended, or the client has disconnected
}

// Start listens on a free loopback port.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the model: %w", err)
	}
	s := &Server{listener: l, served: make(chan struct{}), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+version+"/chat/completions", s.serve(chatCompletions{}))
	mux.HandleFunc("POST "+version+"/responses", s.serve(responses{}))
	mux.HandleFunc("POST "+version+"/messages", s.serve(messages{}))
	mux.HandleFunc("POST "+version+version+"/messages", s.serve(messages{})) // droid appends the version to the base URL
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // until Close
	}()
	return s, nil
}

// Close ends all connections and waits until every call has ended.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	s.calls.Wait()
	return err
}

// URL returns the base URL of the APIs, with their version.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + version }

// On sets the model's answers to conversations whose last user message contains prompt, not counting droid's <system-reminder> blocks. The
// first step answers the message, each further step one round of tool results. After the last step the model answers "done". A later
// matching script overrides an earlier one.
func (s *Server) On(prompt string, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = append(s.scripts, &script{prompt, steps, make([]int, len(steps))})
}

// Elsewhere says that a directory here has another name where droid runs: the model's text and calls use that name, and messages to the
// model are recorded with the name here.
func (s *Server) Elsewhere(here, there string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places = append(s.places, [2]string{here, there})
}

// named replaces the names of the other side (see Elsewhere) by those of this side.
func (s *Server) named(text string, side int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.places {
		text = strings.ReplaceAll(text, p[1-side], p[side])
	}
	return text
}

// Requests returns the requests received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Await waits for a request that ok accepts, including those already received.
func (s *Server) Await(ctx context.Context, ok func(Request) bool) (Request, error) {
	for seen := 0; ; {
		s.mu.Lock()
		requests, changed := s.requests, s.changed
		s.mu.Unlock()
		for ; seen < len(requests); seen++ {
			if ok(requests[seen]) {
				return requests[seen], nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("waiting for a model request: %w", ctx.Err())
		}
	}
}

// serve answers the calls of one API.
func (s *Server) serve(f format) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		defer s.calls.Done()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // droid has disconnected
		}
		body = []byte(s.named(string(body), 0))
		c, err := f.decode(body)
		if err != nil {
			http.Error(w, "decoding the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		req, step := s.choose(c)
		ended := make(chan struct{})
		defer close(ended)
		req.Body, req.Ended = body, ended
		c.number = s.record(req)
		if err := step.play(r.Context(), w, f, c, func(text string) string { return s.named(text, 1) }); err != nil && !errors.Is(err, context.Canceled) {
			panic(http.ErrAbortHandler) // a broken stream: net/http resets the connection
		}
	}
}

// record records a request and returns its number, from 1.
func (s *Server) record(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.changed)
	s.changed = make(chan struct{})
	return len(s.requests)
}

// choose returns the step that answers a call: the script by the last user message that matches one, the step by the model's answers after
// it. A failed call that droid repeats thus gets the same step again, unless Step.Times says otherwise.
func (s *Server) choose(c call) (Request, Step) {
	req := Request{Time: time.Now(), Messages: c.messages}
	for _, t := range c.tools {
		req.Tools = append(req.Tools, t.name)
	}
	if len(req.Tools) == 0 { // only the agent itself offers tools; 0.99 to 0.225 request a title without any
		req.Side = true
		return req, Step{Text: "A scripted title"}
	}
	steps, index := s.match(c.messages)
	if steps == nil {
		return req, Step{Text: "no script for this prompt"}
	}
	req.Prompt, req.Step = steps.prompt, index
	if index >= len(steps.steps) {
		return req, Step{Text: "done"}
	}
	return req, steps.steps[index]
}

// reminder matches what droid 0.99 adds to the user's message; newer droids send it as a separate message.
var reminder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`) })

// match returns the script for messages and the index of its step.
func (s *Server) match(messages []Message) (*script, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		switch m.Role {
		case "assistant":
			answers++
		case "user":
			said := reminder().ReplaceAllString(m.Text(), "")
			for j := len(s.scripts) - 1; j >= 0; j-- {
				if strings.Contains(said, s.scripts[j].prompt) {
					return s.scripts[j], s.scripts[j].next(answers)
				}
			}
		}
	}
	return nil, 0
}
