package adapter

import (
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

// pairRounds is how often TestPairs tries each pair of methods with each version:
// "DROID_ACP_PAIR_ROUNDS=200 go test ./internal/adapter -run TestPairs".
func pairRounds() int {
	if n, err := strconv.Atoi(os.Getenv("DROID_ACP_PAIR_ROUNDS")); err == nil {
		return n
	}
	return 1
}

// asked is one thing that an editor asks of a session.
type asked struct {
	name   string
	ask    func(e *editor) string // sends the request and returns its id
	line   string                 // what the line has in it by which droid gets it; "" for none
	prompt bool                   // droid works on it
	rests  bool                   // it is refused while a prompt runs or waits
	new    bool                   // droid has it since 0.215, or 0.117
}

// everything are the methods that change something, or that tell what others change.
func everything() []asked {
	on := func(method, more string) func(e *editor) string {
		return func(e *editor) string { return e.request(method, fmt.Sprintf(`{"sessionId":%q%s}`, e.session, more)) }
	}
	set := func(id, value string) func(e *editor) string {
		return on("session/set_config_option", fmt.Sprintf(`,"configId":%q,"value":%q`, id, value))
	}
	say := func(text string) func(e *editor) string { return func(e *editor) string { return e.prompt(text) } }
	const opening = `,"cwd":"/workspace","mcpServers":[]`
	return []asked{
		{name: "mode", ask: on("session/set_mode", `,"modeId":"auto-low"`), line: `"autonomyMode":"auto-low"`},
		{name: "mode option", ask: set("mode", "spec"), line: `"autonomyMode":"spec"`},
		{name: "model", ask: set("model", "fake-old"), line: `"modelId":"fake-old"`},
		{name: "set_model", ask: on("session/set_model", `,"modelId":"custom:Fake-0"`), line: `"modelId":"custom:Fake-0"`},
		{name: "effort", ask: set("reasoning_effort", "low"), line: `"reasoningEffort":"low"`},
		{name: "spec model", ask: set("spec_model", "fake-old"), line: `"specModeModelId":"fake-old"`},
		{name: "follow-up", ask: set("follow_up", "steer")},
		{name: "compaction", ask: on("_droid/set_auto_compaction", `,"enabled":false`), line: `"compactionThresholdCheckEnabled":false`, new: true},
		{name: "title", ask: on("session/set_title", `,"title":"My own"`), line: `rename_session`, new: true},
		{name: "load", ask: on("session/load", opening), line: `load_session`, rests: true},
		{name: "resume", ask: on("session/resume", opening), line: `load_session`, rests: true},
		{name: "fork", ask: on("session/fork", opening), line: `fork_session`, rests: true},
		{name: "messages", ask: on("_droid/messages", ""), line: `load_session`, rests: true},
		{name: "prompt", ask: say("hello"), line: `"text":"hello"`, prompt: true},
		{name: "command", ask: say("/model fake-thinker"), line: `"modelId":"fake-thinker"`, prompt: true},
		{name: "steering", ask: on("_session/steering", `,"prompt":[{"type":"text","text":"steered"}]`), line: `"text":"steered"`, prompt: true},
	}
}

// toldLines is what the droids of a test were told.
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

// place is where the n-th line is that has this in it, −1 for none.
func (l *toldLines) place(n int, with string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, line := range l.lines {
		if strings.Contains(line, with) {
			if n--; n == 0 {
				return i
			}
		}
	}
	return -1
}

// TestPairs: of two things that are asked one right behind the other, droid gets the first
// one first, whichever they are, whether droid is there or must be started.
func TestPairs(t *testing.T) {
	for _, first := range everything() {
		for _, second := range everything() {
			if first.name == second.name {
				continue
			}
			t.Run(first.name+" then "+second.name, func(t *testing.T) {
				for range pairRounds() {
					for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
						if v == fakedroid.V099 && (first.new || second.new) {
							continue
						}
						for _, parked := range []bool{false, true} {
							synctest.Test(t, func(t *testing.T) { tryPair(t, first, second, v, parked) })
						}
					}
				}
			})
		}
	}
}

func tryPair(t *testing.T, first, second asked, v fakedroid.Version, parked bool) {
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
	one, two := e.await(ids[0]), e.await(ids[1])
	require.Nil(t, one.Error)
	busy := first.prompt && second.rests // the second one may be refused
	switch {
	case first.name == "set_model" && second.name == "effort":
		require.NotNil(t, two.Error, "the new model has no efforts")
		return
	case two.Error != nil && busy:
		require.Contains(t, two.Error.Message, "the session works on a prompt")
		return
	}
	require.Nil(t, two.Error)
	e.settle()
	if first.line == "" || second.line == "" || first.name == "command" && second.name == "title" {
		return // these do not depend on each other
	}
	starts := 0 // of droid, in which it loads the session
	if parked {
		starts = 1
	}
	at := 1
	if first.line == "load_session" {
		at += starts
	}
	if first.name == "load" || first.name == "resume" {
		at = 1 // a load that starts droid needs no other one
	}
	then := 1
	switch {
	case first.line == second.line:
		then = at + 1
	case second.line == "load_session":
		then += starts
	}
	require.GreaterOrEqual(t, told.place(at, first.line), 0, "%v", told.lines)
	require.Greater(t, told.place(then, second.line), told.place(at, first.line), "%v", told.lines)
}
