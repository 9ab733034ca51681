package quirks

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"droid-acp/internal/droid/stream"
)

// FuzzNormalizer plays arbitrary bytes, mostly messages that no droid would send, and checks that the events still keep their promises.
func FuzzNormalizer(f *testing.F) {
	f.Add(uint8(0), []byte("Bsu123d4sAi"))
	f.Add(uint8(1), []byte{0, 1, 3, 16, 17, 18, 19, 20, 40, 60, 61, 62, 80, 100, 120, 140, 160, 180, 200, 220, 240, 255})
	f.Add(uint8(2), []byte("the quick brown fox jumps over the lazy dog"))
	paths, err := filepath.Glob(filepath.Join(fixtures, "*.txtar"))
	if err != nil || len(paths) == 0 {
		f.Fatal("no fixtures", err)
	}
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data[:min(len(data), 400)])
	}
	f.Fuzz(func(t *testing.T, version uint8, script []byte) {
		g := newGame([]stream.Version{v057, v099, v215, v225}[version%4])
		for len(script) >= 2 {
			g.move(script[0], script[1])
			script = script[2:]
			if g.check.err != nil {
				t.Fatalf("%v\n%s", g.check.err, strings.Join(g.lines, "\n"))
			}
		}
		g.end()
		if g.check.err != nil {
			t.Fatalf("%v\n%s", g.check.err, strings.Join(g.lines, "\n"))
		}
	})
}

// TestImplausibleEvents plays many random games, the same ones every time.
func TestImplausibleEvents(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		g := newGame([]stream.Version{v057, v099, v215, v225}[random.IntN(4)])
		for range random.IntN(80) {
			g.move(byte(random.IntN(256)), byte(random.IntN(256)))
		}
		g.end()
		if g.check.err != nil {
			t.Fatalf("%v\n%s", g.check.err, strings.Join(g.lines, "\n"))
		}
	}
}

// game is a conversation made up of bytes.
type game struct {
	n       *Normalizer
	check   *checker
	now     time.Time
	prompts int
	echoed  map[string]bool // prompts that droid spoke of, which it does once
	lines   []string
}

func newGame(v stream.Version) *game {
	return &game{n: New(v), check: newChecker(), now: epoch, echoed: map[string]bool{}}
}

func (g *game) got(does string, events []Event) []Event {
	g.lines = append(g.lines, "> "+does[:min(len(does), 150)])
	for _, ev := range events {
		g.check.event(ev)
		g.lines = append(g.lines, Describe(ev))
	}
	return events
}

func (g *game) push(ev stream.Event) []Event {
	return g.got(fmt.Sprintf("%s %+v", ev.Kind(), ev), g.n.Handle(g.now, ev))
}

// move makes one event of a kind and a detail.
func (g *game) move(kind, detail byte) {
	id := func(prefix string, n byte) string { return fmt.Sprintf("%s%d", prefix, detail%n) }
	states := []stream.WorkingStateChanged{streaming, executing, idle, {State: stream.StateWaiting}}
	reasons := []string{"completed", "cancelled", "error", "spec_handoff", "permission_rejected"}
	switch kind % 24 {
	case 0:
		g.prompts++
		p := fmt.Sprintf("p%d", g.prompts)
		g.check.begin(p)
		g.got("begin "+p, g.n.Begin(g.now, p, p))
	case 1:
		g.got("interrupt", g.n.Interrupted(g.now))
	case 2:
		r := id("r", 4)
		g.check.answer(r)
		g.got("answer "+r, g.n.RequestAnswered(g.now, r, detail > 100))
	case 3, 4:
		g.now = g.now.Add(time.Duration(detail) * 20 * time.Millisecond)
		g.got("tick", g.n.Tick(g.now))
	case 5, 6, 7:
		state := states[int(detail)%len(states)]
		state.Trace = []string{"", "a", "b", "c"}[detail>>6]
		g.push(state)
	case 8:
		if p := fmt.Sprintf("p%d", max(g.prompts-int(detail%3), 0)); !g.echoed[p] {
			g.echoed[p] = true
			echo := user(p, fmt.Sprintf("new%d", len(g.lines))).(stream.MessageCreated)
			echo.Trace = []string{"", "a", "b", "c"}[detail>>6]
			g.push(echo)
		}
	case 9:
		g.push(user("", id("u", 8)))
	case 10, 11:
		g.push(stream.TextDelta{MessageID: id("a", 5), BlockIndex: int(detail>>4) % 3, Thinking: detail&8 != 0, Text: string("xyz"[detail%3])})
	case 12, 13:
		g.snapshot(id("a", 5), detail)
	case 14:
		g.push(toolCall(id("c", 3), []byte([]string{"", "{}", `{"a":1}`, `{"a":`}[detail>>6])))
	case 15:
		g.push(stream.ToolProgress{ToolUseID: id("c", 4), Update: stream.ProgressUpdate{Type: "status"}})
	case 16:
		g.push(result(id("c", 4), "x"))
	case 17:
		if detail%2 == 0 {
			g.push(permission(id("r", 4), id("c", 3), id("c", 2)))
		} else {
			g.push(stream.QuestionRequest{RequestID: id("r", 4), ToolCallID: id("c", 3)})
		}
	case 18:
		g.push(stream.PermissionResolved{RequestID: id("r", 4), ToolUseIDs: []string{id("c", 3)}})
	case 19:
		g.push(completed(reasons[int(detail)%len(reasons)], id("u", 16)))
	case 20:
		if detail%2 == 0 {
			g.push(stream.LLMRetry{Attempt: 1})
		} else {
			g.push(stream.MessageRetracted{MessageID: id("a", 5)})
		}
	case 21:
		g.misc(detail)
	case 22, 23:
		g.subagent(fmt.Sprintf("k%d", detail>>6&1), detail)
	}
}

// subagent makes a subagent act.
func (g *game) subagent(child string, detail byte) {
	call, request := fmt.Sprintf("c%d", detail>>3%3), fmt.Sprintf("r%d", detail>>3%4)
	switch detail % 8 {
	case 0:
		g.push(stream.ChildSessionAvailable{ChildID: child, ToolUseID: call, Description: "look"})
	case 1:
		g.push(asks(child, request, call))
	case 2:
		g.push(allowed(request, call))
	case 3:
		g.push(inBackground(call, child))
	case 4:
		g.push(reports(child, "completed"))
	case 5:
		g.got("lost "+child, g.n.EndSubagentFile(g.now, child))
	case 6, 7:
		line := []string{uses(call, string(abc)), gives(call, "ok"), outcome, `{"type":"message"}`}[detail>>4&3]
		g.got("wrote "+line, g.n.HandleSubagentLines(g.now, child, childLines([]byte(line))))
	}
}

// snapshot sends an assistant message and checks that its text came out whole.
func (g *game) snapshot(id string, detail byte) {
	var blocks []stream.ContentBlock
	if detail&16 != 0 {
		blocks = append(blocks, thinking("x"))
	}
	if detail&32 != 0 {
		blocks = append(blocks, text("xyz"[:detail>>6]))
	}
	if detail&8 != 0 {
		blocks = append(blocks, text("yz"), use(fmt.Sprintf("c%d", detail%3), abc))
	}
	ev := assistant(id, blocks...)
	before := g.n.messages[id]
	dropped := before != nil && before.done // repeated, or of a cancelled turn
	for _, out := range g.push(ev) {
		if end, ok := out.(TurnEnded); ok && end.Outcome == Cancelled {
			dropped = true
		}
	}
	if !dropped {
		g.check.snapshot(ev.(stream.MessageCreated).Message)
	}
}

func (g *game) misc(detail byte) {
	switch detail % 8 {
	case 0:
		g.push(stream.Failure{Message: fmt.Sprintf("error %d", detail%2)})
	case 1:
		g.push(system(fmt.Sprintf("s%d", detail), stream.VisibilityUserOnly, "advice"))
	case 2:
		g.push(system(fmt.Sprintf("s%d", detail), stream.VisibilityLLMOnly, "Request interrupted by user"))
	case 3:
		if detail >= 200 {
			g.push(stream.QueuedMessagesDiscarded{Text: []string{"", fmt.Sprintf("p%d\np%d", g.prompts-1, g.prompts)}[detail>>3&1]}) // which it is, old versions do not say
		} else if p := fmt.Sprintf("p%d", g.prompts); !g.echoed[p] {
			g.echoed[p] = true
			g.push(stream.QueuedMessagesDiscarded{RequestID: p})
		}
	case 4:
		g.push(stream.TitleUpdated{Title: fmt.Sprintf("t%d", detail%3)})
	case 5:
		g.push(stream.ToolPhaseChanged{ToolUseID: fmt.Sprintf("c%d", detail%4), Phase: []string{"queued", "executing"}[detail%2]})
	case 6:
		g.push(stream.TokenUsageChanged{TokenUsage: stream.TokenUsage{InputTokens: int64(detail % 2)}})
	case 7: // droid refuses a prompt that it did not take up
		if p := fmt.Sprintf("p%d", g.prompts-int(detail>>6)); !g.echoed[p] && g.check.begun[p] > g.check.ended[p] && g.check.started[p] == 0 {
			g.echoed[p] = true
			g.check.abort(p)
			g.got("abort "+p, g.n.Abort(g.now, p))
		}
	}
}

// end lets droid exit, after which every prompt has had its one end.
func (g *game) end() {
	g.got("exit", g.n.DroidExited(g.now))
	g.check.over()
	if at, ok := g.n.Deadline(); ok {
		g.check.fail("a deadline at %v is left", at)
	}
}
