package adapter

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/fakedroid"
)

// pairRounds is how often each pair of methods is tried: "DROID_ACP_PAIR_ROUNDS=200 go test
// ./internal/adapter -run TestPairs" tries each 200 times.
func pairRounds() int {
	if n, err := strconv.Atoi(os.Getenv("DROID_ACP_PAIR_ROUNDS")); err == nil {
		return n
	}
	return 2
}

// asked is one thing that an editor asks of a session, and the line by which droid gets it.
type asked struct {
	name   string
	ask    func(e *editor) string // sends the request and returns its id
	line   string                 // what the line has in it
	rests  bool                   // it is refused while a prompt runs or waits
	prompt bool                   // it is a prompt, or a message
}

// everything are the methods that change something, or that depend on what others change.
func everything() []asked {
	set := func(id, value string) func(e *editor) string {
		return func(e *editor) string {
			return e.request("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%s}`, e.session, id, value))
		}
	}
	on := func(method, more string) func(e *editor) string {
		return func(e *editor) string { return e.request(method, fmt.Sprintf(`{"sessionId":%q%s}`, e.session, more)) }
	}
	say := func(text string) func(e *editor) string { return func(e *editor) string { return e.prompt(text) } }
	opening := `,"cwd":"/workspace","mcpServers":[]`
	return []asked{
		{name: "mode", ask: on("session/set_mode", `,"modeId":"auto-low"`), line: `"autonomyMode":"auto-low"`},
		{name: "mode option", ask: set("mode", `"spec"`), line: `"autonomyMode":"spec"`},
		{name: "model", ask: set("model", `"fake-old"`), line: `"modelId":"fake-old"`},
		{name: "set_model", ask: on("session/set_model", `,"modelId":"custom:Fake-0"`), line: `"modelId":"custom:Fake-0"`},
		{name: "effort", ask: set("reasoning_effort", `"low"`), line: `"reasoningEffort":"low"`},
		{name: "spec model", ask: set("spec_model", `"fake-old"`), line: `"specModeModelId":"fake-old"`},
		{name: "compaction", ask: on("_droid/set_auto_compaction", `,"enabled":false`), line: `"compactionThresholdCheckEnabled":false`},
		{name: "title", ask: on("session/set_title", `,"title":"My own"`), line: `rename_session`},
		{name: "load", ask: on("session/load", opening), line: `load_session`, rests: true},
		{name: "resume", ask: on("session/resume", opening), line: `load_session`, rests: true},
		{name: "fork", ask: on("session/fork", opening), line: `fork_session`, rests: true},
		{name: "messages", ask: on("_droid/messages", ""), line: `load_session`, rests: true},
		{name: "prompt", ask: say("hello"), line: `"text":"hello"`, prompt: true},
		{name: "/model", ask: say("/model fake-thinker"), line: `"modelId":"fake-thinker"`, prompt: true},
		{name: "steering", ask: on("_session/steering", `,"prompt":[{"type":"text","text":"steered"}]`), line: `"text":"steered"`, prompt: true},
	}
}

// told is what the droids of a test were told.
type toldLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *toldLines) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
}

func (l *toldLines) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = nil
}

// first is the place of the first line with this in it, −1 for none.
func (l *toldLines) first(with string, but int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, line := range l.lines {
		if i != but && strings.Contains(line, with) {
			return i
		}
	}
	return -1
}

// TestPairs: of two things that are asked one right behind the other, droid gets the first
// one first, whichever they are, with a droid that is there and one that must be started.
func TestPairs(t *testing.T) {
	for _, first := range everything() {
		for _, second := range everything() {
			if first.name == second.name {
				continue
			}
			t.Run(first.name+" then "+second.name, func(t *testing.T) {
				for round := range pairRounds() {
					for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
						synctest.Test(t, func(t *testing.T) { tryPair(t, first, second, v, round%2 == 1) })
					}
				}
			})
		}
	}
}

func tryPair(t *testing.T, first, second asked, v fakedroid.Version, parked bool) {
	if v == fakedroid.V099 && (first.name == "compaction" || second.name == "compaction" || first.name == "title" || second.name == "title") {
		return // it has none of its own
	}
	told, sessions := new(toldLines), new(fakedroid.Sessions)
	e := begin(t, func(int) (*droid.Client, error) {
		return tappedDroid(told.add, says("hi"), fakedroid.WithVersion(v), fakedroid.WithSessions(sessions),
			fakedroid.WithAnswer("droid.rename_session", func(map[string]any) (any, string) { return fakedroid.Fields{"success": true}, "" })), nil
	})
	require.Nil(t, e.set("model", "fake-thinker").Error)
	require.Equal(t, "end_turn", e.run("one turn"))
	if parked {
		e.inside(func(s *Session) { s.leave() })
		e.settle()
	}
	told.forget()
	ids := []string{first.ask(e), second.ask(e)}
	var refused []bool
	for i, id := range ids {
		answer := e.await(id)
		refused = append(refused, answer.Error != nil)
		if second.rests && first.prompt && i == 1 || strings.Contains(first.name, "model") && second.name == "effort" {
			continue // droid works, or the model has no such effort
		}
		require.Nil(t, answer.Error, "request %d", i+1)
	}
	e.settle()
	if refused[1] || refused[0] {
		return
	}
	at := told.first(first.line, -1)
	if (parked || first.name == "load") && first.line == "load_session" {
		return // the start of droid loads it, too
	}
	then := told.first(second.line, at)
	if second.line == "load_session" && parked {
		return
	}
	require.GreaterOrEqual(t, at, 0, "droid was told: %v", told.lines)
	require.Greater(t, then, at, "droid was told: %v", told.lines)
	if second.prompt && second.name == "prompt" {
		require.True(t, json.Valid([]byte(told.lines[then])))
	}
}
