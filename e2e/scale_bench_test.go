//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Sizes of what BenchmarkScale measures.
const (
	scaleSessions = 100
	scaleActive   = 3
	scaleTurns    = 1000
	scaleStored   = 10_000
)

// BenchmarkScale measures what many sessions, many turns and a long list cost, with a scripted droid, and writes the table of
// docs/performance.md where $DROID_ACP_E2E_PERFORMANCE names that file. Memory is the process's own, two seconds after
// the last event, when it has given back what it needs no more.
func BenchmarkScale(b *testing.B) {
	h := newHome(b, newDroid, newModel(b).URL())
	var err error
	h.droid, err = os.Executable()
	require.NoError(b, err)
	env := h.bulk(0)
	f := figures{}
	for b.Loop() {
		h.measureSessions(b, env, f)
		h.measureTurns(b, env, f)
		h.measureList(b, env, f)
	}
	var t strings.Builder
	_, _ = fmt.Fprintf(&t, "%s\n\n| scripted droid, median, rounds: %d | |\n|---|---|\n", tableBegins("scale"), b.N)
	for _, row := range []figure{
		{"one session open: memory", "one memory", "MB"},
		{"each further session, open and idle: memory", "idle memory", "MB"},
		{"each further session, open and idle: threads", "idle threads", ""},
		{"each further session, open and idle: open files", "idle files", ""},
		{"each further session, parked: memory", "parked memory", "MB"},
		{"each further session, parked: open files", "parked files", ""},
		{"a short turn in one of three active among 100: processor time", "active cpu", "ms"},
		{"the same with that session alone", "alone cpu", "ms"},
		{"memory after 100 turns in one session", "turns early", "MB"},
		{"memory after 1,000 turns", "turns late", "MB"},
		{"`session/list` of 10,000 stored sessions, the first page: processor time", "list first", "ms"},
		{"the same for the second time", "again first", "ms"},
		{"all pages: processor time", "list", "ms"},
		{"the same for the second time", "again", "ms"},
		{"memory that the list keeps", "list memory", "MB"},
	} {
		b.ReportMetric(f.at(row.name, .5), strings.ReplaceAll(row.name, " ", "-")+"-"+row.unit)
		_, _ = fmt.Fprintf(&t, "| %s | %s %s |\n", row.what, strconv.FormatFloat(f.at(row.name, .5), 'f', digits(f.at(row.name, .5)), 64), row.unit)
	}
	b.ReportMetric(0, "ns/op")
	if page := os.Getenv("DROID_ACP_E2E_PERFORMANCE"); page != "" {
		replaceTable(b, page, tableBegins("scale"), t.String())
	}
}

// digits is how many digits behind the point say something of a figure.
func digits(figure float64) int {
	switch {
	case figure >= 100:
		return 0
	case figure >= 10:
		return 1
	}
	return 2
}

// rest waits until the process has settled, and returns what it holds in MB, its threads and its open files.
func (s *speaker) rest() (mB, threads, files float64) {
	time.Sleep(2 * time.Second)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", s.cmd.Process.Pid))
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.cmd.Process.Pid))
	return s.memory() / 1024, float64(len(tasks)), float64(len(open))
}

// turn has the session do a turn.
func (s *speaker) turn(session string, id int) {
	agentClient.prompt(s, session, id)
	require.Contains(s.b, s.until(agentClient.ended(id), nil), "end_turn")
}

func (h home) scaled(b *testing.B, env []string, args ...string) *speaker {
	s := speakTo(b, h, env, programs.Agent, append([]string{"--droid", h.droid}, args...)...)
	agentClient.greeted(s)
	return s
}

// measureSessions opens sessions, of which each has had a turn, idle and parked.
func (h home) measureSessions(b *testing.B, env []string, f figures) {
	for _, way := range []string{"idle", "parked"} {
		park := "1h"
		if way == "parked" {
			park = "1s" // a second after its only turn
		}
		s := h.scaled(b, env, "--park-after", park)
		sessions := []string{agentClient.open(s, h.work)}
		s.turn(sessions[0], 100)
		one, threads, files := s.rest()
		cpu := s.cpu()
		if way == "idle" {
			for i := range 20 {
				s.turn(sessions[0], 200+i)
			}
			f.addTime("alone cpu", (s.cpu()-cpu)/20)
		}
		for range scaleSessions - 1 {
			sessions = append(sessions, agentClient.open(s, h.work))
			s.turn(sessions[len(sessions)-1], 300)
		}
		mB, moreThreads, moreFiles := s.rest()
		f.add(way+" memory", (mB-one)/(scaleSessions-1))
		f.add(way+" threads", (moreThreads-threads)/(scaleSessions-1))
		f.add(way+" files", (moreFiles-files)/(scaleSessions-1))
		if way == "idle" {
			f.add("one memory", one)
			cpu = s.cpu()
			for i := range 20 * scaleActive {
				s.turn(sessions[i%scaleActive], 400+i)
			}
			f.addTime("active cpu", (s.cpu()-cpu)/(20*scaleActive))
		}
		s.end()
	}
}

func (h home) measureTurns(b *testing.B, env []string, f figures) {
	s := h.scaled(b, env)
	defer s.end()
	session := agentClient.open(s, h.work)
	for i := range scaleTurns {
		s.turn(session, 1000+i)
		switch i + 1 {
		case scaleTurns / 10:
			mB, _, _ := s.rest()
			f.add("turns early", mB)
		case scaleTurns:
			mB, _, _ := s.rest()
			f.add("turns late", mB)
		}
	}
}

func (h home) measureList(b *testing.B, env []string, f figures) {
	store := filepath.Join(h.dir, ".factory", "sessions")
	for i := range scaleStored {
		id, cwd := fmt.Sprintf("5ef7d3a8-1111-4222-8333-%012x", i), fmt.Sprintf("/home/me/projects/p%d", i%40)
		dir := filepath.Join(store, strings.ReplaceAll(cwd, "/", "-"))
		require.NoError(b, os.MkdirAll(dir, 0o700))
		require.NoError(b, os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(fmt.Sprintf(
			`{"type":"session_start","id":%q,"title":"Change number %d","owner":"me","cwd":%q,"version":2}`+"\n"+
				`{"type":"message","id":"m1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"Change number %d"}]}}`+"\n", id, i, cwd, i)), 0o600))
	}
	defer func() { require.NoError(b, os.RemoveAll(store)) }()
	s := h.scaled(b, env)
	defer s.end()
	before, _, _ := s.rest()
	id := 10
	list := func(name string) {
		listed, cpu := 0, s.cpu()
		for cursor := ""; ; {
			id++
			s.say(`{"jsonrpc":"2.0","id":%d,"method":"session/list","params":{%s}}`, id, cursor)
			line := s.until(fmt.Sprintf(`"id":%d,`, id), nil)
			if listed == 0 {
				f.addTime(name+" first", s.cpu()-cpu)
			}
			listed += strings.Count(line, `"sessionId"`)
			_, rest, more := strings.Cut(line, `"nextCursor":"`)
			if !more {
				break
			}
			cursor, _, _ = strings.Cut(rest, `"`)
			cursor = fmt.Sprintf(`"cursor":"%s"`, cursor)
		}
		require.GreaterOrEqual(b, listed, scaleStored)
		f.addTime(name, s.cpu()-cpu)
	}
	list("list")
	list("again")
	after, _, _ := s.rest()
	f.add("list memory", after-before)
}
