package fakedroid

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// Sessions is the session store of a HOME: fakes that share one load each other's sessions. Its zero value is empty.
type Sessions struct {
	// Directory returns the directory in which a session continues according to its file, "" for the original one. It is nil if sessions
	// have no files.
	Directory func(id string) string
	// TakesAny makes a load of an unknown session return an empty one, for a fake in its own process.
	TakesAny bool

	mu    sync.Mutex
	all   map[string]*stored
	given int // to the last process
}

// ids returns the first ID, n or a later one, of a process that has loaded a session, so that no ID of another process on the same session
// is repeated.
func (s *Sessions) ids(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = max(n, s.given+1000)
	return s.given
}

// stored is one session of a store.
type stored struct {
	cwd      string
	settings settings
	messages []Fields
}

// WithSessions makes the fake use a shared store. By default each has its own.
func WithSessions(s *Sessions) Option { return func(d *Droid) { d.sessions = s } }

// create adds an empty session.
func (s *Sessions) create(id, cwd string, with settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*stored{}
	}
	s.all[id] = &stored{cwd: cwd, settings: with}
}

// find returns a copy of a session.
func (s *Sessions) find(id string) (stored, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.all[id]; ok {
		c := *one
		if s.Directory != nil {
			c.cwd = cmp.Or(s.Directory(id), c.cwd)
		}
		c.messages = slices.Clone(one.messages)
		return c, true
	}
	return stored{}, false
}

// add appends a message to a session.
func (s *Sessions) add(id string, m Fields) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.all[id]; ok {
		one.messages = append(one.messages, maps.Clone(m))
	}
}

// keep stores the settings of a session.
func (s *Sessions) keep(id string, with settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.all[id]; ok {
		one.settings = with
	}
}

// fork copies a session under a new ID.
func (s *Sessions) fork(id string) string {
	one, _ := s.find(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := uuid.NewString()
	s.all[copied] = &one
	return copied
}

// Add adds an empty session and returns its ID.
func (s *Sessions) Add(cwd string) string {
	id := uuid.NewString()
	s.create(id, cwd, defaultSettings())
	return id
}

// SetMode sets the mode of a session, as if by another process, for its next load.
func (s *Sessions) SetMode(id, mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id].settings.setMode(mode)
}

// Prompts returns the user's texts in a session, oldest first.
func (s *Sessions) Prompts(id string) (texts []string) {
	one, _ := s.find(id)
	for _, m := range one.messages {
		blocks, ok := m["content"].([]Fields)
		if ok && m["role"] == "user" && m["visibility"] == nil && len(blocks) > 0 {
			texts = append(texts, blocks[0]["text"].(string))
		}
	}
	return texts
}

// Before copies a session as it was before one of its messages, and returns the ID of the copy.
func (s *Sessions) Before(id, message string) string {
	copied := s.fork(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[copied]
	if i := slices.IndexFunc(one.messages, func(m Fields) bool { return m["id"] == message }); i >= 0 {
		one.messages = one.messages[:i:i]
	}
	return copied
}
