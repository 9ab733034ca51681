// Package flight keeps the last messages of some connections in memory, without their texts, for a report on what went wrong. It is to
// messages what trace.FlightRecorder of package runtime/trace is to events. jsonrpc and droid add messages; adapter writes the report.
package flight

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Direction is the direction of a message.
type Direction int

// Directions, as seen from this program.
const (
	In Direction = iota
	Out
)

// Recorder keeps messages of all connections in the order in which they were added. A nil Recorder keeps nothing. Its methods may be called
// from any goroutine.
type Recorder struct {
	limit int
	seed  maphash.Seed // the same text has the same hash in one process alone

	mu       sync.Mutex
	messages []*message
	size     int // of all messages, see message.size
}

// Connection is one of the connections that a Recorder observes. A nil Connection keeps nothing. Messages of one direction are added by one
// goroutine at a time.
type Connection struct {
	r    *Recorder
	name string
	last [2]*message // of each Direction
}

// Series identifies messages of which a Recorder keeps the first, and counts the others: parts of one text. The zero value is a message of
// its own.
type Series struct{ Kind, ID string }

// message is one message, or several of a Series.
type message struct {
	connection *Connection
	direction  Direction
	time       time.Time // of the first one
	count      atomic.Int64
	bytes      atomic.Int64 // of the message, or of the text of a Series
	series     Series
	outline    string // see outline
}

// messageSize is the size of a message without its outline, in bytes.
const messageSize = 160

// New returns a Recorder that keeps at most limit bytes.
func New(limit int) *Recorder { return &Recorder{limit: limit, seed: maphash.MakeSeed()} }

// Connection returns a Connection with a name, which need not be unique.
func (r *Recorder) Connection(name string) *Connection {
	if r == nil {
		return nil
	}
	return &Connection{r: r, name: name}
}

// Add adds a message. More counts the text of one of a Series. The line may be reused when it returns.
func (c *Connection) Add(d Direction, s Series, line []byte) {
	if c == nil || c.More(d, s, 1, 0) {
		return
	}
	m := &message{connection: c, direction: d, series: s, outline: outline(c.r.seed, line)}
	m.add(1, 0)
	if s == (Series{}) {
		m.add(0, len(line))
	}
	c.last[d] = m
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	m.time = time.Now() // in the order of the messages
	c.r.messages = append(c.r.messages, m)
	c.r.size += messageSize + len(m.outline)
	for c.r.size > c.r.limit {
		c.r.size -= messageSize + len(c.r.messages[0].outline)
		c.r.messages[0] = nil
		c.r.messages = c.r.messages[1:]
	}
}

// More counts further messages of a Series, of which the last message in that direction must be, and bytes of its text. Otherwise it reports
// false, and Add is due.
func (c *Connection) More(d Direction, s Series, messages, bytes int) bool {
	if c == nil {
		return true
	}
	m := c.last[d]
	if m == nil || m.series != s || s == (Series{}) {
		return false
	}
	m.add(messages, bytes)
	return true
}

func (m *message) add(messages, bytes int) {
	m.count.Add(int64(messages))
	m.bytes.Add(int64(bytes))
}

// Lines returns the messages of connections as lines of text, the oldest first. about selects messages by their connection and their
// outline.
func (r *Recorder) Lines(about func(c *Connection, outline string) bool) (lines []string) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	messages := slices.Clone(r.messages)
	r.mu.Unlock()
	for _, m := range messages {
		if about(m.connection, m.outline) {
			lines = append(lines, m.line())
		}
	}
	return lines
}

// envelope matches what is the same in all messages of a connection.
var envelope = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(jsonrpc|factoryApiVersion|factoryProtocolVersion):"[^"]*",?|,_meta:\{traceparent:‹[^›]*›\}`)
})

// line returns a message as text: time, connection, direction, how many bytes, and the outline without its envelope.
func (m *message) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %c %d B", m.time.Format("15:04:05.000"), m.connection.name, "<>"[m.direction], m.bytes.Load())
	if m.series != (Series{}) {
		fmt.Fprintf(&b, " of text in %d messages", m.count.Load())
	}
	b.WriteString(" ")
	b.WriteString(envelope().ReplaceAllString(m.outline, ""))
	return b.String()
}
