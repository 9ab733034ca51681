package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"droid-acp/internal/text/rawjson"
)

// metrics are the counters of a server since its start. The zero value is ready for use.
type metrics struct {
	mu       sync.Mutex
	counters map[string]int // by their names with labels
	delays   [len(delayBounds) + 1]int
	delaySum time.Duration
}

// delayBounds are the upper bounds of the histogram of first deltas.
var delayBounds = [...]time.Duration{time.Second / 4, time.Second / 2, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// maxCounters limits the number of counters: some labels are words of an agent.
const maxCounters = 200

// Names of the counters.
const (
	metricTurns    = "droid_acp_turns_total"
	metricErrors   = "droid_acp_errors_total"
	metricRefusals = "droid_acp_refusals_total"
)

// count adds one to a counter with a label.
func (m *metrics) count(name, label, value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprintf("%s{%s=%q}", name, label, metricLabel(value))
	if m.counters == nil {
		m.counters = map[string]int{}
	}
	if _, known := m.counters[key]; !known && len(m.counters) >= maxCounters {
		key = fmt.Sprintf("%s{%s=%q}", name, label, "other")
	}
	m.counters[key]++
}

// metricLabel returns a word that is safe as the value of a label.
func metricLabel(word string) string {
	return cmp.Or(fmt.Sprintf("%.40s", strings.Map(func(r rune) rune {
		if r == '_' || r == '/' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return -1
	}, fmt.Sprintf("%.80s", word))), "none")
}

// delay records the time from a prompt to the first text of its answer.
func (m *metrics) delay(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := slices.BinarySearch(delayBounds[:], d)
	m.delays[i]++
	m.delaySum += d
}

// CountRefusal counts a connection that a transport refused, with its HTTP status.
func (s *Server) CountRefusal(status int) {
	s.metrics.count(metricRefusals, "of", fmt.Sprintf("connection_%d", status))
}

// countError counts the error of a response, if it has one.
func (s *Server) countError(line []byte) {
	if e := rawjson.Field(line, "error"); e != nil {
		s.metrics.count(metricErrors, "kind", cmp.Or(textAt(rawjson.Field(e, "data"), "kind"), string(rawjson.Field(e, "code"))))
	}
}

// WriteMetrics writes the metrics in the text format of Prometheus.
func (s *Server) WriteMetrics(w io.Writer) error {
	status := s.Status()
	states := map[string]int{Idle: 0, Running: 0, Asking: 0}
	for _, session := range status.Sessions {
		states[session.State]++
	}
	draining := 0
	if status.Draining {
		draining = 1
	}
	var b strings.Builder
	gauge := func(name, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name) }
	gauge("droid_acp_connections", "Connected clients.")
	fmt.Fprintf(&b, "droid_acp_connections %d\n", status.Clients)
	gauge("droid_acp_agents", "Running agents.")
	fmt.Fprintf(&b, "droid_acp_agents %d\n", status.Agents)
	gauge("droid_acp_sessions", "Open sessions by state.")
	for _, state := range slices.Sorted(maps.Keys(states)) {
		fmt.Fprintf(&b, "droid_acp_sessions{state=%q} %d\n", state, states[state])
	}
	s.writeQueues(&b, gauge)
	gauge("droid_acp_draining", "Whether the server accepts no new sessions.")
	fmt.Fprintf(&b, "droid_acp_draining %d\n", draining)
	s.metrics.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeQueues writes what waits, and the memory of the agents.
func (s *Server) writeQueues(b *strings.Builder, gauge func(name, help string)) {
	s.mu.Lock()
	prompts, queued := 0, map[string]int{"agents": 0, "clients": 0, "journals": 0}
	for _, open := range s.sessions {
		prompts += open.waitingPrompts()
		queued["journals"] += open.journal.out.Size()
	}
	for a := range s.agents {
		queued["agents"] += a.out.Size()
	}
	for c := range s.clients {
		queued["clients"] += c.out.Waiting()
	}
	err := s.measureMemory()
	memory := s.memory
	s.mu.Unlock()
	gauge("droid_acp_waiting_prompts", "Prompts that wait for an earlier one of their session.")
	fmt.Fprintf(b, "droid_acp_waiting_prompts %d\n", prompts)
	gauge("droid_acp_queued_bytes", "Messages that wait to be written, by receiver.")
	for _, to := range slices.Sorted(maps.Keys(queued)) {
		fmt.Fprintf(b, "droid_acp_queued_bytes{to=%q} %d\n", to, queued[to])
	}
	if s.Memory != nil && err == nil {
		gauge("droid_acp_agents_memory_bytes", "Memory of the agents and of what they have started.")
		fmt.Fprintf(b, "droid_acp_agents_memory_bytes %d\n", memory)
	}
}

// waitingPrompts returns how many prompts of the session wait for an earlier one, or for a replay.
func (o *session) waitingPrompts() (n int) {
	for _, c := range o.agent.calls {
		if c.session == o && c.method == "session/prompt" {
			n++
		}
	}
	n = max(n-1, 0)
	for _, w := range o.subscribers {
		n += len(w.afterReplay)
	}
	return n
}

func (m *metrics) write(b *strings.Builder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, row := range []struct{ name, help string }{
		{metricErrors, "Errors that clients got from agents, by kind."},
		{metricRefusals, "Refused connections, by status, and messages."},
		{metricTurns, "Prompts that ended, by stop reason."},
	} {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s counter\n", row.name, row.help, row.name)
		for _, key := range slices.Sorted(maps.Keys(m.counters)) {
			if strings.HasPrefix(key, row.name+"{") {
				fmt.Fprintf(b, "%s %d\n", key, m.counters[key])
			}
		}
	}
	const name = "droid_acp_first_delta_seconds"
	fmt.Fprintf(b, "# HELP %s Time from a prompt to the first text of its answer.\n# TYPE %s histogram\n", name, name)
	sum := 0
	for i, bound := range delayBounds {
		sum += m.delays[i]
		fmt.Fprintf(b, "%s_bucket{le=\"%g\"} %d\n", name, bound.Seconds(), sum)
	}
	sum += m.delays[len(delayBounds)]
	fmt.Fprintf(b, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, sum, name, m.delaySum.Seconds(), name, sum)
}

// CheckReady returns why the server can open no new session, nil if it is not known to be unable.
func (s *Server) CheckReady() error {
	s.mu.Lock()
	failure := s.startFailure
	switch {
	case s.closed:
		failure = errClosed
	case s.drains > 0:
		failure = errors.New("the server accepts no new sessions, and ends when nothing works in it")
	}
	s.mu.Unlock()
	if failure == nil && s.Ready != nil {
		failure = s.Ready()
	}
	return failure
}
