package fakedroid

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// Sessions stands for the session store in a HOME: fakes that share one load
// what another has written. Its zero value is empty.
type Sessions struct {
	// Directory tells where the file of a session says that it goes on, "" where it was
	// begun. It is nil where sessions have no files.
	Directory func(id string) string
	// TakesAny makes a load of an unknown session find an empty one, for a fake that is a process of its own.
	TakesAny bool

	mu    sync.Mutex
	all   map[string]*stored
	given int // to the last process
}

// ids is the first id, n or a later one, of a process that has loaded a session: none repeats those of another
// process, which may work on the same session.
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

// WithSessions has the fake use a store that others use too. The default is one
// of its own.
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

// fork copies a session under a new id.
func (s *Sessions) fork(id string) string {
	one, _ := s.find(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := uuid.NewString()
	s.all[copied] = &one
	return copied
}

// Add adds an empty session and returns its id.
func (s *Sessions) Add(cwd string) string {
	id := uuid.NewString()
	s.create(id, cwd, defaultSettings())
	return id
}

// SetMode has another window have set the mode of a session, when it is loaded next.
func (s *Sessions) SetMode(id, mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id].settings.setMode(mode)
}

// Prompts are the texts of the user in a session, oldest first.
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

// Before copies a session as it was before one of its messages, and returns the id of the copy.
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
