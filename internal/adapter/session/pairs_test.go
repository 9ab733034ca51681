package session_test

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

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// pairRounds is how often TestPairs tries each pair of methods with each version, with a droid
// that is there and with one that must be started:
// "DROID_ACP_PAIR_ROUNDS=100 go test ./internal/adapter/session -run TestPairs".
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
	new    bool                   // droid has it since 0.215
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
		{name: "mode option", ask: set("mode", "auto-high"), line: `"autonomyMode":"auto-high"`},
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

// toldLines has the lines that the droids of a test received.
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

// place returns the index of the n-th line that contains a text, −1 for none.
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

// TestPairs checks that of any two consecutive requests droid gets the first one first, whether droid is running or must be started.
func TestPairs(t *testing.T) {
	for _, first := range everything() {
		for _, second := range everything() {
			if first.name == second.name {
				continue
			}
			t.Run(first.name+" then "+second.name, func(t *testing.T) {
				t.Parallel()
				for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
					if v == fakedroid.V099 && (first.new || second.new || testing.Short()) {
						continue
					}
					synctest.Test(t, func(t *testing.T) {
						p := beginPair(t, v)
						for range pairRounds() {
							p.try(first, second, false)
							p.try(first, second, true)
						}
					})
				}
			})
		}
	}
}

// pairTest is a session in which pairs are tried.
type pairTest struct {
	*editor
	told *toldLines
}

func beginPair(t *testing.T, v fakedroid.Version) *pairTest {
	told, sessions := new(toldLines), new(fakedroid.Sessions)
	e := begin(t, func(int) (*droid.Client, error) {
		return tappedDroid(told.add, says("hi"), fakedroid.WithVersion(v), fakedroid.WithSessions(sessions),
			answering("rename_session", fakedroid.Fields{"success": true})), nil
	})
	require.Equal(t, "end_turn", e.run("one turn"))
	return &pairTest{e, told}
}

// try sends both, one right after the other, to a session that has a droid or, if parked, none.
func (p *pairTest) try(first, second asked, parked bool) {
	require.Nil(p.t, p.set("model", "fake-thinker").Error)
	require.Nil(p.t, p.set("follow_up", "queue").Error)
	require.Nil(p.t, p.set("mode", "normal").Error) // a stricter mode than the one that holds passes prompts
	if parked {
		p.inside(func(s *session.Session) { s.ReplaceDroid() })
	}
	p.settle()
	p.told.forget()
	ids := []string{first.ask(p.editor), second.ask(p.editor)}
	one, two := p.await(ids[0]), p.await(ids[1])
	require.Nil(p.t, one.Error)
	p.closeCopies(one, two)
	switch {
	case first.name == "set_model" && second.name == "effort":
		require.NotNil(p.t, two.Error, "the new model has no efforts")
		return
	case two.Error != nil && first.prompt && second.rests:
		require.Contains(p.t, two.Error.Message, "the session works on a prompt")
		return
	}
	require.Nil(p.t, two.Error)
	if first.line != "" && second.line != "" && !(first.name == "command" && second.name == "title") { // which do not depend on each other
		p.inOrder(first, second, parked)
	}
}

// inOrder checks that droid received the first before the second.
func (p *pairTest) inOrder(first, second asked, parked bool) {
	at, then := 1, 1
	starts := parked && first.name != "load" && first.name != "resume" // so droid loads the session as well
	if starts && first.line == "load_session" {
		at = 2
	}
	switch {
	case first.line == second.line:
		then = at + 1
	case starts && second.line == "load_session":
		then = 2
	}
	require.GreaterOrEqual(p.t, p.told.place(at, first.line), 0, "%v", p.told.lines)
	require.Greater(p.t, p.told.place(then, second.line), p.told.place(at, first.line), "%v", p.told.lines)
}

// closeCopies closes the sessions that were opened.
func (p *pairTest) closeCopies(answers ...wireMessage) {
	for _, answer := range answers {
		var copied struct{ SessionID string }
		if json.Unmarshal(answer.Result, &copied) == nil && copied.SessionID != "" && copied.SessionID != p.session {
			require.Nil(p.t, p.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, copied.SessionID)).Error)
		}
	}
	p.settle()
}
