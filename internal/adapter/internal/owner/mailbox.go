package owner

import "sync"

// mailbox brings work to a session's owner goroutine. Posting never blocks, so
// that a session whose editor reads slowly still hears a cancel.
type mailbox struct {
	wake chan struct{} // has one token while there is mail

	mu     sync.Mutex
	mail   []func()
	closed bool
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post leaves work for the owner. It reports false when the owner has ended and
// will not do it.
func (m *mailbox) post(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.mail = append(m.mail, f)
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return true
}

// take empties the mailbox.
func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	mail := m.mail
	m.mail = nil
	return mail
}

// close takes the last mail; nothing can be posted any more.
func (m *mailbox) close() []func() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.take()
}
