package quirks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"droid-acp/internal/droid/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Versions by the droid that speaks them.
var (
	v057  = stream.Version{}
	v099  = stream.Version{Major: 1, Minor: 15}
	v215  = stream.Version{Major: 1, Minor: 206}
	v225  = stream.Version{Major: 1, Minor: 220}
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// talk drives a Normalizer by hand. Its clock moves only by after.
type talk struct {
	t     *testing.T
	n     *Normalizer
	check *checker
	now   time.Time
	lines []string

	events []Event
}

func newTalk(t *testing.T, v stream.Version) *talk {
	return &talk{t: t, n: New(v), check: newChecker(), now: epoch}
}

func (k *talk) got(events []Event) *talk {
	for _, ev := range events {
		k.check.event(ev)
		k.events = append(k.events, ev)
		k.lines = append(k.lines, Describe(ev))
	}
	return k
}

func (k *talk) begin(id string) *talk { return k.prompt(id, "") }
func (k *talk) prompt(id, text string) *talk {
	k.check.begin(id)
	return k.got(k.n.Begin(k.now, id, text))
}
func (k *talk) interrupt() *talk { return k.got(k.n.Interrupted(k.now)) }
func (k *talk) exit() *talk      { return k.got(k.n.DroidExited(k.now)) }
func (k *talk) answer(id string, refused bool) *talk {
	k.check.answer(id)
	return k.got(k.n.RequestAnswered(k.now, id, refused))
}

func (k *talk) push(events ...stream.Event) *talk {
	for _, ev := range events {
		k.got(k.n.Handle(k.now, ev))
	}
	return k
}

// after lets d pass; what is due until then happens.
func (k *talk) after(d time.Duration) *talk {
	k.now = k.now.Add(d)
	if at, ok := k.n.Deadline(); ok && !k.now.Before(at) {
		k.got(k.n.Tick(k.now))
	}
	return k
}

// says checks what came since the last call.
func (k *talk) says(lines ...string) *talk {
	k.t.Helper()
	require.Equal(k.t, lines, k.lines)
	require.NoError(k.t, k.check.err)
	k.lines = nil
	return k
}

// started runs a turn up to the model's first word.
func started(t *testing.T, v stream.Version) *talk {
	k := newTalk(t, v).begin("p1").push(streaming, user("p1", "u1"))
	return k.says(`turn started, prompt "p1", message u1`)
}

var (
	streaming = stream.WorkingStateChanged{State: stream.StateStreaming}
	executing = stream.WorkingStateChanged{State: stream.StateExecuting}
	idle      = stream.WorkingStateChanged{State: stream.StateIdle}
	abc       = json.RawMessage(`{"command":"abc"}`)
	xyz       = json.RawMessage(`{"command":"xyz"}`)
)

func user(requestID, id string) stream.Event {
	return stream.MessageCreated{RequestID: requestID, Message: stream.Message{ID: id, Role: stream.RoleUser, Content: []stream.ContentBlock{{Type: "text", Text: "do"}}}}
}

func system(id, visibility, text string) stream.Event {
	return stream.MessageCreated{Message: stream.Message{ID: id, Role: stream.RoleSystem, Visibility: visibility, Content: []stream.ContentBlock{{Type: "text", Text: text}}}}
}

func assistant(id string, blocks ...stream.ContentBlock) stream.Event {
	return stream.MessageCreated{Message: stream.Message{ID: id, Role: stream.RoleAssistant, Content: blocks}}
}

func text(s string) stream.ContentBlock { return stream.ContentBlock{Type: "text", Text: s} }
func thinking(s string) stream.ContentBlock {
	return stream.ContentBlock{Type: "thinking", Thinking: s}
}

func use(id string, input json.RawMessage) stream.ContentBlock {
	return stream.ContentBlock{Type: "tool_use", ID: id, Name: "Execute", Input: input}
}

func delta(id, s string) stream.Event { return stream.TextDelta{MessageID: id, Text: s} }

func toolCall(id string, input json.RawMessage) stream.Event {
	return stream.ToolCall{ToolUse: stream.ToolUse{ID: id, Name: "Execute", Input: input}}
}

func result(id, s string) stream.Event {
	content, _ := json.Marshal(s)
	return stream.ToolResult{ToolUseID: id, Content: content}
}

func completed(reason, turnID string) stream.Event {
	return stream.TurnCompleted{Reason: reason, TurnID: turnID}
}

func permission(id string, tools ...string) stream.Event {
	ev := stream.PermissionRequest{RequestID: id}
	for _, tool := range tools {
		ev.ToolUses = append(ev.ToolUses, stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: tool, Name: "Execute", Input: abc}, Confirmation: "exec"})
	}
	return ev
}

func TestQuirk01_TurnEnd(t *testing.T) {
	const ended = `turn ended, prompt "p1", completed, reason "completed"`
	t.Run("completed then idle", func(t *testing.T) {
		started(t, v225).push(delta("a", "hi"), assistant("a", text("hi")), completed("completed", "u1")).
			says(`text a "hi"`).push(idle).says(ended)
	})
	t.Run("completed without idle", func(t *testing.T) {
		started(t, v225).push(completed("completed", "u1")).after(999 * time.Millisecond).says().
			after(time.Millisecond).says(ended)
	})
	t.Run("idle before completed", func(t *testing.T) {
		started(t, v225).push(idle, completed("completed", "u1")).says(ended)
	})
	t.Run("completed in an unknown version", func(t *testing.T) {
		started(t, v057).push(assistant("a", text("hi")), completed("completed", "u1")).says(`text a "hi"`).push(idle).says(ended)
	})
	t.Run("completed that names no turn", func(t *testing.T) {
		started(t, v225).push(completed("completed", ""), idle).says(ended)
	})
	t.Run("completed before any sign of the turn", func(t *testing.T) {
		newTalk(t, v225).begin("p1").push(completed("completed", "u1"), idle).says(ended)
	})
	t.Run("a message after completed is the next turn's", func(t *testing.T) {
		started(t, v225).push(completed("completed", "u1"), user("p2", "u2")).
			says(ended, `turn started, prompt "p2", message u2`)
	})
	t.Run("the echo comes after idle", func(t *testing.T) {
		newTalk(t, v225).begin("p1").push(streaming, idle, user("p1", "u1")).says(`turn started, prompt "p1", message u1`).
			push(assistant("a", text("hi")), completed("completed", "u1"), idle).says(`text a "hi"`, ended)
	})
	t.Run("work after completed is the next turn's", func(t *testing.T) {
		started(t, v225).push(completed("completed", "u1"), streaming, user("p2", "u2")).
			says(ended, `turn started, prompt "p2", message u2`)
	})
	t.Run("idle alone on 0.99", func(t *testing.T) {
		started(t, v099).push(idle).says(`turn ended, prompt "p1", completed, reason ""`)
	})
	t.Run("idle when no turn runs", func(t *testing.T) {
		newTalk(t, v225).push(idle, idle, completed("completed", "u0")).says()
	})
}

func TestQuirk01_PrematureIdle(t *testing.T) {
	const ended = `turn ended, prompt "p1", completed, reason ""`
	t.Run("message streamed", func(t *testing.T) {
		started(t, v057).push(delta("a", "he"), idle).says(`text a "he"`).
			after(500*time.Millisecond).push(assistant("a", text("hello"))).says(`text a "llo"`, ended)
	})
	t.Run("message only in its snapshot", func(t *testing.T) {
		started(t, v057).push(idle).says().push(assistant("a", text("hello"))).says(`text a "hello"`, ended)
	})
	t.Run("message never comes", func(t *testing.T) {
		started(t, v057).push(delta("a", "he"), idle).says(`text a "he"`).after(time.Second).says(ended).
			push(assistant("a", text("hello"))).says(`text a "llo"`)
	})
	t.Run("streamed message on 0.99", func(t *testing.T) {
		started(t, v099).push(delta("a", "he"), idle, idle).says(`text a "he"`).after(time.Second).says(ended)
	})
	t.Run("message calls a tool", func(t *testing.T) {
		started(t, v057).push(idle, assistant("a", use("c", abc)), executing).
			says(`tool c started: Execute {"command":"abc"}`).after(time.Minute).says().
			push(result("c", "ok"), streaming, assistant("b", text("done")), idle).
			says(`tool c ended "ok"`, `text b "done"`, ended)
	})
	t.Run("message calls a tool that was announced", func(t *testing.T) {
		k := started(t, v057).push(toolCall("c", abc), idle, assistant("a", use("c", abc))).
			says(`tool c started: Execute {"command":"abc"}`).after(999 * time.Millisecond).says()
		k.push(executing).after(time.Minute).says()
	})
	t.Run("a message that calls a tool puts the end off", func(t *testing.T) {
		started(t, v057).push(toolCall("c", abc), idle).after(500*time.Millisecond).push(assistant("a", use("c", abc))).
			says(`tool c started: Execute {"command":"abc"}`).after(999*time.Millisecond).says().
			after(time.Millisecond).says("tool c ended unfinished",
			`turn ended, prompt "p1", failed, reason "", failure error  "droid became idle while a tool call had no result" advice ""`)
	})
	t.Run("more work takes it back", func(t *testing.T) {
		started(t, v057).push(idle, delta("a", "x")).says(`text a "x"`).after(time.Minute).says()
	})
	t.Run("nothing follows a refusal", func(t *testing.T) {
		started(t, v057).push(assistant("a", use("c", abc)), permission("r", "c")).
			says(`tool c started: Execute {"command":"abc"}`, `permission r asked for c Execute (exec); options `).
			answer("r", true).push(streaming, result("c", "no"), idle).says(`tool c ended "no"`, ended)
	})
	t.Run("the model is asked again after a refusal", func(t *testing.T) {
		started(t, v057).answer("r", true).push(streaming, assistant("a", use("c", abc)), result("c", "x"), streaming, idle).
			says(`tool c started: Execute {"command":"abc"}`, `tool c ended "x"`).
			push(assistant("b", text("done"))).says(`text b "done"`, ended)
	})
	t.Run("of a turn that droid took up by itself", func(t *testing.T) {
		newTalk(t, v057).push(streaming, user("p1", "u1"), idle, assistant("a", text("hi"))).
			says(`turn started, prompt "p1", message u1`, `text a "hi"`, ended)
	})
	t.Run("nothing follows an interrupt", func(t *testing.T) {
		started(t, v057).push(delta("a", "x")).interrupt().push(idle).
			says(`text a "x"`, `turn ended, prompt "p1", cancelled, reason ""`)
	})
	t.Run("an interrupt ends the wait", func(t *testing.T) {
		started(t, v057).push(delta("a", "x"), idle).interrupt().
			says(`text a "x"`, `turn ended, prompt "p1", cancelled, reason ""`)
	})
}

func TestQuirk01_LateEventsOfCancelledTurn(t *testing.T) {
	started(t, v099).push(delta("a", "x"), toolCall("c", abc), permission("r", "c")).
		says(`text a "x"`, `tool c started: Execute {"command":"abc"}`, `permission r asked for c Execute (exec); options `).
		interrupt().push(stream.PermissionResolved{RequestID: "r", SelectedOption: stream.OptionCancel}, idle).
		says("ask withdrawn r", "tool c ended unfinished", `turn ended, prompt "p1", cancelled, reason ""`).
		push(result("c", "late"), result("never seen", "late"), delta("a", "y"), assistant("a", text("xy")),
			system("s1", stream.VisibilityBoth, "Request cancelled by user")).says().
		begin("p2").push(system("s2", stream.VisibilityUserOnly, "Error: Request was aborted.")).says().
		push(delta("new", "kept")).says(`text new "kept"`)
	newTalk(t, v225).push(system("s", stream.VisibilityUserOnly, "Request was aborted.")).says(`notice "Request was aborted."`) // nothing was cancelled
}

func TestQuirk01_IdleOfThePast(t *testing.T) {
	for name, v := range map[string]stream.Version{"0.99": v099, "0.225": v225} {
		t.Run(name, func(t *testing.T) {
			newTalk(t, v).begin("p1").push(idle).after(time.Minute).says().
				push(streaming, user("p1", "u1")).says(`turn started, prompt "p1", message u1`)
		})
	}
	t.Run("completed of the turn before", func(t *testing.T) {
		started(t, v225).push(completed("completed", "u1")).after(time.Second).
			says(`turn ended, prompt "p1", completed, reason "completed"`).
			begin("p2").push(completed("completed", "u1"), completed("completed", ""), idle).after(time.Minute).says()
	})
	t.Run("droid went idle before the echo", func(t *testing.T) {
		newTalk(t, v225).begin("p1").push(streaming).interrupt().push(completed("cancelled", "u1"), idle, user("p1", "u1")).
			says(`turn ended, prompt "p1", cancelled, reason "cancelled"`).
			begin("p2").push(streaming, user("p2", "u2")).says(`turn started, prompt "p2", message u2`)
	})
}

func TestQuirk02_QueuedMessages(t *testing.T) {
	t.Run("folded into the turn", func(t *testing.T) {
		started(t, v225).push(user("p2", "u2")).says(`prompt "p2" folded, message u2`).
			push(completed("completed", "u1"), idle).says(`turn ended, prompt "p1", completed, reason "completed"`)
	})
	t.Run("begun and folded", func(t *testing.T) {
		k := started(t, v099).begin("p2").push(user("p2", "u2"), idle).
			says(`prompt "p2" folded, message u2`, `turn ended, prompt "p1", completed, reason ""`, `turn ended, prompt "p2", completed, reason ""`)
		k.exit().says()
		k.check.over()
		require.NoError(t, k.check.err)
	})
	t.Run("droid takes it up by itself", func(t *testing.T) {
		started(t, v099).push(idle, streaming, user("p2", "u2"), delta("b", "x"), assistant("b", text("x")), idle).
			says(`turn ended, prompt "p1", completed, reason ""`, `turn started, prompt "p2", message u2`,
				`text b "x"`, `turn ended, prompt "p2", completed, reason ""`)
	})
	t.Run("another one comes first", func(t *testing.T) {
		newTalk(t, v099).begin("p2").push(streaming, user("p1", "u1"), idle, idle).
			says(`turn started, prompt "p1", message u1`, `turn ended, prompt "p1", completed, reason ""`).
			push(streaming, user("p2", "u2"), idle).
			says(`turn started, prompt "p2", message u2`, `turn ended, prompt "p2", completed, reason ""`)
	})
	t.Run("discarded", func(t *testing.T) {
		started(t, v225).begin("p2").interrupt().
			push(stream.QueuedMessagesDiscarded{RequestID: "p2", Text: "do"}, completed("cancelled", "u1"), idle).
			says(`discarded prompt "p2": "do"`, `turn ended, prompt "p2", dropped, reason ""`,
				`turn ended, prompt "p1", cancelled, reason "cancelled"`)
	})
	t.Run("discarded without an id", func(t *testing.T) {
		started(t, v099).begin("p2").push(stream.QueuedMessagesDiscarded{Text: "do"}).
			says(`discarded prompt "p2": "do"`, `turn ended, prompt "p2", dropped, reason ""`)
	})
	// A message that reaches droid while it stops, as one sent just before a
	// cancel: the turn before is over by then.
	t.Run("discarded after idle", func(t *testing.T) {
		for _, id := range []string{"", "p2"} {
			started(t, v099).begin("p2").interrupt().push(idle).
				says(`turn ended, prompt "p1", cancelled, reason ""`).
				push(stream.QueuedMessagesDiscarded{RequestID: id, Text: "do"}).
				says(`discarded prompt "p2": "do"`, `turn ended, prompt "p2", dropped, reason ""`)
		}
	})
	t.Run("several discarded at once", func(t *testing.T) {
		for _, border := range []string{"\n\n", "\n"} {
			started(t, v225).prompt("p2", "go").prompt("p3", "").prompt("p4", "go on\nthere ").interrupt().
				push(stream.QueuedMessagesDiscarded{Text: "go" + border + "go on\nthere "}).
				says(`discarded prompt "p2": "go"`, `turn ended, prompt "p2", dropped, reason ""`,
					`discarded prompt "p4": "go on\nthere "`, `turn ended, prompt "p4", dropped, reason ""`).
				push(idle).says(`turn ended, prompt "p1", cancelled, reason ""`).
				push(streaming, user("p3", "u3")).says(`turn started, prompt "p3", message u3`)
		}
	})
	t.Run("of two that begin alike the one that was discarded", func(t *testing.T) {
		started(t, v099).prompt("p2", "go").prompt("p3", "go on").push(stream.QueuedMessagesDiscarded{Text: "go on"}).
			says(`discarded prompt "p3": "go on"`, `turn ended, prompt "p3", dropped, reason ""`)
		started(t, v099).prompt("p2", "go").prompt("p3", "go on").push(stream.QueuedMessagesDiscarded{Text: "go"}).
			says(`discarded prompt "p2": "go"`, `turn ended, prompt "p2", dropped, reason ""`)
	})
	t.Run("two discarded without an id after idle", func(t *testing.T) {
		started(t, v099).begin("p2").begin("p3").interrupt().push(idle).
			says(`turn ended, prompt "p1", cancelled, reason ""`).
			push(stream.QueuedMessagesDiscarded{Text: "do"}, stream.QueuedMessagesDiscarded{Text: "this"}).
			says(`discarded prompt "p2": "do"`, `turn ended, prompt "p2", dropped, reason ""`,
				`discarded prompt "p3": "this"`, `turn ended, prompt "p3", dropped, reason ""`)
	})
}

func TestQuirk03_ShutdownIdle(t *testing.T) {
	t.Run("droid goes on", func(t *testing.T) {
		started(t, v225).push(delta("a", "x"), idle).says(`text a "x"`).after(2*time.Second).
			push(delta("a", "y")).says(`text a "y"`).after(time.Minute).says().
			push(assistant("a", text("xy")), completed("process_exit", "u1"), idle).
			says(`turn ended, prompt "p1", completed, reason "process_exit"`)
	})
	t.Run("twice", func(t *testing.T) {
		started(t, v225).push(idle, delta("a", "x")).after(time.Minute).push(idle).says(`text a "x"`).after(3 * time.Second).
			says(`turn ended, prompt "p1", failed, reason "", failure error  "droid became idle without saying how the turn ended" advice ""`)
	})
	t.Run("a result gives it more time", func(t *testing.T) {
		started(t, v225).push(assistant("a", use("c", abc)), idle).after(2*time.Second).push(result("c", "x")).
			says(`tool c started: Execute {"command":"abc"}`, `tool c ended "x"`).
			after(2 * time.Second).push(streaming).after(time.Minute).says()
	})
	t.Run("nothing follows", func(t *testing.T) {
		started(t, v225).push(idle).after(3 * time.Second).
			says(`turn ended, prompt "p1", failed, reason "", failure error  "droid became idle without saying how the turn ended" advice ""`)
	})
	t.Run("droid is ended in the middle of an answer", func(t *testing.T) {
		started(t, v225).push(delta("a", "x"), completed("process_exit", "u1"), idle).
			says(`text a "x"`, `turn ended, prompt "p1", failed, reason "process_exit", failure process_exit  "" advice ""`)
	})
	t.Run("nothing follows a whole answer", func(t *testing.T) {
		started(t, v225).push(assistant("a", text("hi")), idle).after(3*time.Second).
			says(`text a "hi"`, `turn ended, prompt "p1", completed, reason ""`)
	})
	t.Run("droid exits", func(t *testing.T) {
		started(t, v225).push(delta("a", "x"), toolCall("c", nil), permission("r", "c"), idle).exit().
			says(`text a "x"`, "tool c started: Execute {}", `tool c input: Execute {"command":"abc"}`,
				`permission r asked for c Execute (exec); options `, "ask withdrawn r", "tool c ended unfinished",
				`turn ended, prompt "p1", failed, reason "process_exit", failure process_exit  "" advice ""`)
	})
	t.Run("droid exits after completed", func(t *testing.T) {
		started(t, v225).push(completed("completed", "u1")).exit().
			says(`turn ended, prompt "p1", completed, reason "completed"`)
	})
}

func TestQuirk05_InterruptLost(t *testing.T) {
	newTalk(t, v099).begin("p1").interrupt().
		push(streaming, user("p1", "u1"), delta("a", "late"), assistant("a", text("late")), idle).
		says(`turn started, prompt "p1", message u1`, `text a "late"`, `turn ended, prompt "p1", completed, reason ""`)
}

func TestCancelledUnlessComplete(t *testing.T) {
	answer := assistant("a", text("hi"))
	started(t, v099).push(answer).interrupt().push(idle).
		says(`text a "hi"`, `turn ended, prompt "p1", completed, reason ""`)
	started(t, v099).push(answer, streaming).interrupt().push(idle).
		says(`text a "hi"`, `turn ended, prompt "p1", cancelled, reason ""`)
	started(t, v099).interrupt().push(system("s", stream.VisibilityLLMOnly, "Request interrupted by user"), answer, idle).
		says(`text a "hi"`, `turn ended, prompt "p1", cancelled, reason ""`)
	started(t, v225).push(answer).interrupt().push(completed("completed", "u1"), idle).
		says(`text a "hi"`, `turn ended, prompt "p1", completed, reason "completed"`)
}

func TestQuirk07_SecondResult(t *testing.T) {
	started(t, v225).push(toolCall("c", abc), result("c", "one"), result("c", "two"), stream.ToolProgress{ToolUseID: "c"},
		stream.ToolPhaseChanged{ToolUseID: "c", Phase: "executing"}, stream.PermissionResolved{ToolUseIDs: []string{"c"}}, toolCall("c", abc)).
		says(`tool c started: Execute {"command":"abc"}`, `tool c ended "one"`)
}

func TestQuirk08_RepeatedToolCall(t *testing.T) {
	t.Run("input is told once, from the snapshot", func(t *testing.T) {
		started(t, v099).push(toolCall("c", nil), toolCall("c", xyz), toolCall("c", abc), assistant("a", use("c", abc)), toolCall("c", xyz), permission("r", "c")).
			says("tool c started: Execute {}", `tool c input: Execute {"command":"abc"}`, "permission r asked for c Execute (exec); options ")
	})
	t.Run("the start told it", func(t *testing.T) {
		spaced := json.RawMessage(`{ "command": "abc" }`)
		started(t, v099).push(toolCall("c", abc), assistant("a", use("c", spaced)), result("c", "x")).
			says(`tool c started: Execute {"command":"abc"}`, `tool c ended "x"`)
	})
	t.Run("it runs before the snapshot", func(t *testing.T) {
		started(t, v225).push(toolCall("c", nil), toolCall("c", abc), stream.ToolPhaseChanged{ToolUseID: "c", Phase: "queued"}).
			says("tool c started: Execute {}").
			push(stream.ToolPhaseChanged{ToolUseID: "c", Phase: "executing"}, stream.ToolProgress{ToolUseID: "c", Update: stream.ProgressUpdate{Type: "status"}}, assistant("a", use("c", abc))).
			says(`tool c input: Execute {"command":"abc"}`, "tool c runs", `tool c progress status "" full ""`)
	})
	t.Run("an empty input takes nothing back", func(t *testing.T) {
		started(t, v225).push(toolCall("c", nil), toolCall("c", abc), toolCall("c", nil), stream.ToolPhaseChanged{ToolUseID: "c", Phase: "executing"}).
			says("tool c started: Execute {}", `tool c input: Execute {"command":"abc"}`, "tool c runs")
	})
	t.Run("first heard of otherwise", func(t *testing.T) {
		started(t, v099).push(stream.ToolProgress{ToolUseID: "p", ToolName: "Execute", Update: stream.ProgressUpdate{Type: "status"}}, result("r", "x")).
			says("tool p started: Execute {}", "tool p runs", `tool p progress status "" full ""`, "tool r started:  {}", `tool r ended "x"`)
	})
}

// The first event of a call may lack its name or its input.
func TestToolNameAndInput(t *testing.T) {
	phase := stream.ToolPhaseChanged{ToolUseID: "c", Phase: "queued"}
	t.Run("the name comes later", func(t *testing.T) {
		started(t, v225).push(phase, permission("r", "c")).
			says("tool c started:  {}", `tool c input: Execute {"command":"abc"}`, "permission r asked for c Execute (exec); options ")
	})
	t.Run("the first name stays", func(t *testing.T) {
		named := phase
		named.ToolName = "Read"
		started(t, v225).push(named, permission("r", "c")).
			says("tool c started: Read {}", `tool c input: Read {"command":"abc"}`, "permission r asked for c Execute (exec); options ")
	})
	t.Run("an input that is none", func(t *testing.T) {
		started(t, v225).push(toolCall("c", json.RawMessage(" null")), toolCall("d", json.RawMessage(`{"cut`))).
			says("tool c started: Execute {}", "tool d started: Execute {}")
	})
}

func TestCallOpen(t *testing.T) {
	k := started(t, v225).push(toolCall("c", abc)).says(`tool c started: Execute {"command":"abc"}`)
	require.True(t, k.n.CallOpen("c"))
	require.False(t, k.n.CallOpen("d"))
	k.push(result("c", "x")).says(`tool c ended "x"`)
	require.False(t, k.n.CallOpen("c"))
}

func TestQuirk10_ReusedToolID(t *testing.T) {
	once := []stream.Event{toolCall("c", nil), assistant("a1", use("c", abc)), stream.PermissionResolved{RequestID: "?", ToolUseIDs: []string{"c"}}, result("c", "1"), streaming}
	k := started(t, v099).push(once...).
		says("tool c started: Execute {}", `tool c input: Execute {"command":"abc"}`, "tool c runs", `tool c ended "1"`)
	k.push(toolCall("c", nil), assistant("a2", use("c", abc)), permission("r", "c")).
		says("tool c~2 started: Execute {}", `tool c~2 input: Execute {"command":"abc"}`, "permission r asked for c~2 Execute (exec); options ").
		answer("r", false).push(stream.PermissionResolved{RequestID: "r", ToolUseIDs: []string{"c"}}, stream.ToolProgress{ToolUseID: "c", Update: stream.ProgressUpdate{Type: "status"}}, result("c", "2")).
		says("tool c~2 runs", `tool c~2 progress status "" full ""`, `tool c~2 ended "2"`)
	t.Run("not without a new model call", func(t *testing.T) {
		started(t, v099).push(toolCall("c", nil), result("c", "x"), toolCall("c", nil), assistant("a", use("c", abc))).
			says("tool c started: Execute {}", `tool c ended "x"`)
	})
	t.Run("a late repeat is no new call", func(t *testing.T) {
		k.push(streaming, toolCall("c", abc)).says()
	})
	t.Run("nor behind another input that comes after the snapshot", func(t *testing.T) {
		started(t, v099).push(assistant("a", use("c", abc)), toolCall("c", xyz), result("c", "x"), streaming, toolCall("c", abc)).
			says(`tool c started: Execute {"command":"abc"}`, `tool c ended "x"`)
	})
	t.Run("a snapshot is", func(t *testing.T) {
		k.push(assistant("a3", use("c", abc))).says(`tool c~3 started: Execute {"command":"abc"}`)
	})
	t.Run("a suffix that the model uses itself", func(t *testing.T) {
		started(t, v099).push(assistant("a1", use("c", abc), use("c~2", abc)), result("c", ""), result("c~2", ""), streaming, assistant("a2", use("c", abc))).
			says(`tool c started: Execute {"command":"abc"}`, `tool c~2 started: Execute {"command":"abc"}`, `tool c ended ""`, `tool c~2 ended ""`,
				`tool c~3 started: Execute {"command":"abc"}`)
	})
	t.Run("ids of a loaded history", func(t *testing.T) {
		k := newTalk(t, v099)
		k.n.Reserve("c", "c~2")
		k.push(assistant("a", use("c", abc))).says(`tool c~3 started: Execute {"command":"abc"}`)
	})
}

func TestQuirk11_HiddenMessages(t *testing.T) {
	started(t, v225).push(
		stream.MessageCreated{Message: stream.Message{ID: "context-1", Role: stream.RoleUser, Visibility: stream.VisibilityLLMOnly}},
		stream.MessageCreated{Message: stream.Message{ID: "__internal__", Role: stream.RoleUser}},
		stream.MessageCreated{Message: stream.Message{ID: "hidden", Role: stream.RoleUser, Visibility: stream.VisibilityLLMOnly, Content: []stream.ContentBlock{text("for the model")}}},
		system("s1", stream.VisibilityLLMOnly, "Continue where you left off."),
		system("s2", stream.VisibilityUserOnly, "/greet is running"),
		system("s2", stream.VisibilityUserOnly, "/greet is running"),
		system("s3", "", "to both"),
		system("s4", "", "")).
		says("the answer continues", `notice "/greet is running"`, `notice "to both"`)
	t.Run("an echo without content counts", func(t *testing.T) {
		newTalk(t, v225).begin("p").push(stream.MessageCreated{RequestID: "p", Message: stream.Message{ID: "u", Role: stream.RoleUser}}).
			says(`turn started, prompt "p", message u`)
	})
	t.Run("an interrupt that nobody asked for", func(t *testing.T) {
		started(t, v099).push(system("s", stream.VisibilityBoth, "Request cancelled by user"), idle).
			says(`notice "Request cancelled by user"`, `turn ended, prompt "p1", cancelled, reason ""`)
	})
}

func TestQuirk16_RepeatedSettings(t *testing.T) {
	s := func(model, level string) stream.Settings {
		var s stream.Settings
		if model != "" {
			s.ModelID = &model
		}
		if level != "" {
			s.AutonomyLevel = &level
		}
		return s
	}
	k := newTalk(t, v099).push(stream.SettingsUpdated{Settings: s("m", "off")}).says("settings model=m effort=? mode=normal")
	k.got(k.n.Settings(s("m", "off"))).says()
	k.push(stream.SettingsUpdated{Settings: s("", "low")}).says("settings model=m effort=? mode=auto-low")
	k.push(stream.SettingsUpdated{Settings: s("m", "")}).says()
	use := stream.TokenUsageChanged{TokenUsage: stream.TokenUsage{InputTokens: 1}}
	k.push(use, use).says("usage in=1 out=0")
}

func TestQuirk18_OneAskAtATime(t *testing.T) {
	question := stream.QuestionRequest{RequestID: "q", ToolCallID: "c", Questions: []stream.Question{{Question: "why?"}}}
	k := started(t, v225).push(toolCall("c", abc), permission("r1", "c"), permission("r2", "c"), question, permission("r1", "c")).
		says(`tool c started: Execute {"command":"abc"}`, "permission r1 asked for c Execute (exec); options ", "tool c runs")
	k.answer("r2", false).says() // held back, so it cannot have been answered; yet it is gone
	k.answer("r1", false).says(`question q asked by c: "why?" []`)
	k.push(permission("r3", "c"), completed("cancelled", "u1"), idle).
		says("ask withdrawn q", "tool c ended unfinished", `turn ended, prompt "p1", cancelled, reason "cancelled"`)
	k.answer("r3", false).answer("q", true).says()
	t.Run("the question is the first that is heard of the call", func(t *testing.T) {
		started(t, v225).push(question).says("tool c started: AskUser {}", "tool c runs", `question q asked by c: "why?" []`)
	})
	t.Run("outside any turn", func(t *testing.T) {
		newTalk(t, v099).push(permission("r", "c")).
			says(`tool c started: Execute {"command":"abc"}`, "permission r asked for c Execute (exec); options ")
	})
}

func TestQuirk19_AskWithdrawn(t *testing.T) {
	resolved := func(id string) stream.Event {
		return stream.PermissionResolved{RequestID: id, SelectedOption: stream.OptionCancel}
	}
	started(t, v225).push(toolCall("c", abc), permission("r1", "c"), permission("r2", "c"), permission("r3", "c")).
		says(`tool c started: Execute {"command":"abc"}`, "permission r1 asked for c Execute (exec); options ").
		push(resolved("r2")).says().
		push(resolved("r1")).says("ask withdrawn r1", "permission r3 asked for c Execute (exec); options ").
		answer("r3", false).push(resolved("r3"), resolved("r1")).says()
}

func TestQuirk22_SpecHandoff(t *testing.T) {
	started(t, v225).push(user("", "u2"), completed("completed", "u2"), idle, completed("spec_handoff", "u1")).
		says("other create_message", `turn ended, prompt "p1", completed, reason "completed"`).
		begin("p2").push(completed("spec_handoff", "u1"), streaming, user("p2", "u3"), completed("spec_handoff", "u1")).
		after(time.Minute).says(`turn started, prompt "p2", message u3`)
}

// Yes and No are options only where the model gave them.
func TestQuirk37_InventedOptions(t *testing.T) {
	yesNo := []string{"Yes", "No"}
	for name, tc := range map[string]struct {
		questionnaire string
		options       [][]string
		want          string
	}{
		"none":                {"1. [question] What name?\n[topic] Name\n", [][]string{yesNo}, `"What?" []`},
		"the model's":         {"1. [question] Ship it?\n[option] Yes\n[option] No\n", [][]string{yesNo}, `"What?" ["Yes" "No"]`},
		"in other letters":    {"1. [Question] Ship it?\n[Option]Yes\n[OPTION] No\n", [][]string{yesNo}, `"What?" ["Yes" "No"]`},
		"one of two":          {"1. [question] What name?\n2. [question] Ship it?\n[option] Yes\n[option] No\n", [][]string{yesNo, yesNo}, `"What?" [], "What?" ["Yes" "No"]`},
		"others":              {"1. [question] What name?\n", [][]string{{"A", "B"}}, `"What?" ["A" "B"]`},
		"another number":      {"1. [question] a\n2. [question] b\n", [][]string{yesNo}, `"What?" ["Yes" "No"]`},
		"nothing can be read": {"", [][]string{yesNo}, `"What?" ["Yes" "No"]`},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := json.Marshal(map[string]string{"questionnaire": tc.questionnaire})
			require.NoError(t, err)
			ev := stream.QuestionRequest{RequestID: "r", ToolCallID: "c"}
			for _, options := range tc.options {
				ev.Questions = append(ev.Questions, stream.Question{Question: "What?", Options: options})
			}
			k := started(t, v225).push(stream.ToolCall{ToolUse: stream.ToolUse{ID: "c", Name: "AskUser", Input: in}}, ev)
			require.Equal(t, "question r asked by c: "+tc.want, k.lines[len(k.lines)-1])
		})
	}
}

func TestQuirk38_RepeatedEvents(t *testing.T) {
	said, asks, ended := assistant("a", text("one two"), use("c", abc)), permission("r", "c"), result("c", "done")
	k := started(t, v225).push(delta("a", "one "), said, said, delta("a", "two"), said).
		says(`text a "one "`, `text a "two"`, `tool c started: Execute {"command":"abc"}`).
		push(asks, asks).says(`permission r asked for c Execute (exec); options `)
	k.answer("r", false).says()
	k.push(asks, executing, executing, asks, ended, asks, ended, said).says(`tool c ended "done"`)
}

// The word "Error" stands once before what a tool said of its failure, live and in a
// history.
func TestQuirk39_ErrorWordOnce(t *testing.T) {
	for said, want := range map[string]string{
		"Error: Error: Tool cancelled: Spec mode is active": "Error: Tool cancelled: Spec mode is active",
		"Error: Error reading file: ENOENT":                 "Error: Error reading file: ENOENT",
		"Error: it failed":                                  "Error: it failed",
		"Error: Errors: 3":                                  "Error: Errors: 3",
		"Error: Error: Error: x":                            "Error: x",
	} {
		failed := result("c", said).(stream.ToolResult)
		failed.IsError = true
		started(t, v225).push(toolCall("c", abc), failed).
			says(`tool c started: Execute {"command":"abc"}`, fmt.Sprintf("tool c failed %q", want))
		content, err := json.Marshal(said)
		require.NoError(t, err)
		events := History(messages(t, `[{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read"}]},
			{"id":"t","role":"tool","content":[{"type":"tool_result","toolUseId":"c","isError":true,"content":`+string(content)+`}]}]`))
		require.Equal(t, fmt.Sprintf("tool c failed %q", want), Describe(events[1]))
	}
	started(t, v225).push(toolCall("c", abc), result("c", "Error: Error: in a log")).
		says(`tool c started: Execute {"command":"abc"}`, `tool c ended "Error: Error: in a log"`)
}

// Without a login droid's words blame its daemon. They stay, live and in a history, and it
// is informed that they are incomplete. The text of a command or a subagent's report does not count.
func TestQuirk36_SubagentWithoutLogin(t *testing.T) {
	const words = "Error: Failed to run task: Could not reach the daemon. It may still be starting."
	for _, c := range []struct {
		tool, words string
		failed      bool
		want        bool
	}{
		{"Task", words, true, true}, {"Task", "Error: " + words, true, true},
		{"Task", words, false, false}, {"Execute", words, true, false}, {"Task", "Error: Authentication failed", true, false},
	} {
		content, err := json.Marshal(c.words)
		require.NoError(t, err)
		n := New(v225)
		n.Begin(epoch, "p", "")
		live := n.Handle(epoch, stream.ToolCall{ToolUse: stream.ToolUse{ID: "c", Name: c.tool}})
		live = append(live, n.Handle(epoch, stream.ToolResult{ToolUseID: "c", Content: content, IsError: c.failed})...)
		past := History(messages(t, fmt.Sprintf(`[{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"c","name":%q}]},
			{"id":"t","role":"tool","content":[{"type":"tool_result","toolUseId":"c","isError":%t,"content":%s}]}]`, c.tool, c.failed, content)))
		for _, events := range [][]Event{live, past} {
			end := events[len(events)-1].(ToolEnded)
			require.Equal(t, c.want, end.MayNeedLogin, "%+v", c)
			require.Contains(t, string(end.Content), strings.TrimPrefix(c.words, "Error: "))
		}
	}
}

// A turn whose call has no result did not complete: one before 0.215 says idle and leaves when
// its stdin ends while a permission waits.
func TestQuirk03_IdleWithAnOpenCall(t *testing.T) {
	asked := func(t *testing.T) *talk {
		return started(t, v099).push(assistant("a", use("c", abc)), permission("r", "c")).
			says(`tool c started: Execute {"command":"abc"}`, "permission r asked for c Execute (exec); options ")
	}
	withdrawn := stream.PermissionResolved{RequestID: "r", SelectedOption: stream.OptionCancel}
	t.Run("and droid leaves", func(t *testing.T) {
		asked(t).push(withdrawn, idle).exit().
			says("ask withdrawn r", "tool c ended unfinished", `turn ended, prompt "p1", failed, reason "process_exit", failure process_exit  "" advice ""`)
	})
	t.Run("and droid stays", func(t *testing.T) {
		asked(t).push(withdrawn, idle).says("ask withdrawn r").after(snapshotAfterIdle).
			says("tool c ended unfinished", `turn ended, prompt "p1", failed, reason "", failure error  "droid became idle while a tool call had no result" advice ""`)
	})
	t.Run("and the result comes late", func(t *testing.T) {
		asked(t).push(withdrawn, idle, result("c", "no")).says("ask withdrawn r", `tool c ended "no"`).
			after(snapshotAfterIdle).says(`turn ended, prompt "p1", completed, reason ""`)
	})
	t.Run("that the user refused", func(t *testing.T) {
		asked(t).answer("r", true).push(withdrawn, idle).says("tool c ended unfinished", `turn ended, prompt "p1", completed, reason ""`)
	})
	t.Run("that was only spelled out", func(t *testing.T) {
		started(t, v099).push(toolCall("c", abc), assistant("a", text("no"))).push(idle).
			says(`tool c started: Execute {"command":"abc"}`, `text a "no"`, "tool c ended unfinished", `turn ended, prompt "p1", completed, reason ""`)
	})
}

func TestQuirk29_DoubleError(t *testing.T) {
	broken := stream.Failure{Message: "401 no", ErrorType: "Error"}
	broken.Detail.Name = "AuthenticationError"
	advice := system("s", stream.VisibilityUserOnly, "Log in.")
	t.Run("0.225", func(t *testing.T) {
		started(t, v225).push(broken, advice, completed("model_authentication_failed", "u1"), idle).
			says(`turn ended, prompt "p1", failed, reason "model_authentication_failed", failure model_authentication_failed AuthenticationError "401 no" advice "Log in."`)
	})
	t.Run("0.99", func(t *testing.T) {
		started(t, v099).push(delta("a", "x"), broken, advice, idle).
			says(`text a "x"`, `turn ended, prompt "p1", failed, reason "", failure error AuthenticationError "401 no" advice "Log in."`)
	})
	t.Run("0.225 gives a reason only", func(t *testing.T) {
		started(t, v225).push(completed("model_rate_limited", "u1"), idle).
			says(`turn ended, prompt "p1", failed, reason "model_rate_limited", failure model_rate_limited  "" advice ""`)
	})
	t.Run("droid recovers", func(t *testing.T) {
		started(t, v225).push(broken, advice, assistant("a", text("ok")), completed("completed", "u1"), idle).
			says(`text a "ok"`, `notice "Log in."`, `turn ended, prompt "p1", completed, reason "completed"`)
		started(t, v099).push(broken, assistant("a", text("ok")), idle).
			says(`text a "ok"`, `notice "401 no"`, `turn ended, prompt "p1", completed, reason ""`)
		started(t, v099).push(broken, assistant("a", text("ok"))).exit().
			says(`text a "ok"`, `notice "401 no"`, `turn ended, prompt "p1", failed, reason "process_exit", failure process_exit  "" advice ""`)
	})
	t.Run("an error without words", func(t *testing.T) {
		started(t, v099).push(stream.Failure{}, assistant("a", text("ok")), idle).
			says(`text a "ok"`, `turn ended, prompt "p1", completed, reason ""`)
	})
	t.Run("as of an interrupt that nobody asked for", func(t *testing.T) {
		started(t, v099).push(stream.Failure{Message: "Request was aborted."}, idle).
			says(`turn ended, prompt "p1", failed, reason "", failure error  "Request was aborted." advice ""`)
	})
	t.Run("the words are in the details", func(t *testing.T) {
		detailed := stream.Failure{}
		detailed.Detail.Message = "401 no"
		started(t, v099).push(detailed, idle).
			says(`turn ended, prompt "p1", failed, reason "", failure error  "401 no" advice ""`)
	})
	t.Run("another error and another message", func(t *testing.T) {
		started(t, v099).push(stream.Failure{Message: "first"}, broken, broken, advice, system("s2", stream.VisibilityUserOnly, "More."), idle).
			says(`notice "first"`, `notice "More."`,
				`turn ended, prompt "p1", failed, reason "", failure error AuthenticationError "401 no" advice "Log in."`)
	})
	t.Run("outside any turn", func(t *testing.T) {
		newTalk(t, v099).push(broken, system("s", stream.VisibilityUserOnly, "BYOK: 401 no"), system("s2", stream.VisibilityUserOnly, "Hello")).
			says(`notice "401 no"`, `notice "Hello"`)
	})
	t.Run("of an interrupt", func(t *testing.T) {
		started(t, v099).interrupt().push(stream.Failure{Message: "Request was aborted."}, system("s", stream.VisibilityUserOnly, "Error: Request was aborted."), idle).
			says(`turn ended, prompt "p1", cancelled, reason ""`)
	})
	t.Run("the process dies of it", func(t *testing.T) {
		started(t, v099).push(broken).exit().
			says(`turn ended, prompt "p1", failed, reason "process_exit", failure process_exit AuthenticationError "401 no" advice ""`)
	})
	for _, test := range []struct{ errorType, name, want string }{
		{"Error", "", "Error"}, {"Error", "TypeError", "TypeError"}, {"TimeoutError", "TypeError", "TimeoutError"}, {"", "X", "X"},
	} {
		f := stream.Failure{ErrorType: test.errorType}
		f.Detail.Name = test.name
		require.Equal(t, test.want, errorName(f))
	}
}

func TestQuirk30_TitleEcho(t *testing.T) {
	title := func(kind, s string) stream.Event { return stream.TitleUpdated{UpdateType: kind, Title: s} }
	newTalk(t, v225).push(title("first_user_message", "do it"), title("first_user_message", "do it"), title("llm_generated", "A task"),
		title("first_user_message", "do it"), title("manual_rename", "Mine"), title("first_user_message", "do it"), title("", "")).
		says(`title "do it"`, `title "A task"`, `title "Mine"`)
	newTalk(t, v099).push(title("", "one"), title("first_user_message", "two")).says(`title "one"`, `title "two"`)
}

func TestAbort(t *testing.T) {
	k := newTalk(t, v225).begin("p1")
	k.check.abort("p1")
	k.got(k.n.Abort(k.now, "p1")).says()
	k.begin("p2").push(streaming, user("p2", "u2"), idle).says(`turn started, prompt "p2", message u2`)
	t.Run("while droid runs another turn", func(t *testing.T) {
		k := started(t, v099).begin("p2")
		k.check.abort("p2")
		k.got(k.n.Abort(k.now, "p2")).says()
		k.push(idle).says(`turn ended, prompt "p1", completed, reason ""`)
		k.exit().says()
	})
	t.Run("while others wait", func(t *testing.T) {
		k := started(t, v099).begin("p2").begin("p3")
		k.check.abort("p2")
		k.got(k.n.Abort(k.now, "p2")).says()
		k.push(idle, streaming, user("p3", "u3"), idle).says(`turn ended, prompt "p1", completed, reason ""`,
			`turn started, prompt "p3", message u3`, `turn ended, prompt "p3", completed, reason ""`)
		k.exit().says()
	})
	t.Run("before the ones that wait", func(t *testing.T) {
		k := newTalk(t, v099).begin("p1").begin("p2")
		k.check.abort("p1")
		k.got(k.n.Abort(k.now, "p1")).says()
		k.push(streaming, user("p2", "u2"), idle).
			says(`turn started, prompt "p2", message u2`, `turn ended, prompt "p2", completed, reason ""`)
		k.exit().says()
	})
}

// Later deadlines count from the newest time passed to any method.
func TestTimeIsNoted(t *testing.T) {
	for name, tell := range map[string]func(n *Normalizer, now time.Time){
		"Begin":       func(n *Normalizer, now time.Time) { n.Begin(now, "p", "") },
		"Push":        func(n *Normalizer, now time.Time) { n.Handle(now, idle) },
		"Answered":    func(n *Normalizer, now time.Time) { n.RequestAnswered(now, "r", false) },
		"Interrupted": func(n *Normalizer, now time.Time) { n.Interrupted(now) },
		"Abort":       func(n *Normalizer, now time.Time) { n.Abort(now, "p") },
		"Tick":        func(n *Normalizer, now time.Time) { n.Tick(now) },
		"DroidExited": func(n *Normalizer, now time.Time) { n.DroidExited(now) },
	} {
		n := New(v225)
		tell(n, epoch)
		require.Equal(t, epoch, n.now, name)
	}
}

func TestOtherEventsPass(t *testing.T) {
	newTalk(t, v225).push(stream.MCPStatusChanged{}, stream.HookStarted{}, stream.SessionCompacted{},
		stream.LateError{}, stream.WorkingStateChanged{State: stream.StateCompacting}, stream.WorkingStateChanged{State: "dreaming"},
		stream.MessageCreated{Message: stream.Message{Role: "oracle"}}).
		says("other mcp_status_changed", "other hook_execution_started", "other session_compacted", "other late_error",
			"other droid_working_state_changed", "other droid_working_state_changed", "other create_message")
}

// RawID takes back what uniqueID has added, and nothing else.
func TestRawID(t *testing.T) {
	for id, raw := range map[string]string{"c": "c", "c~2": "c", "c~2~3": "c~2", "c~x": "c~x", "7": "7"} {
		require.Equal(t, raw, RawID(id))
	}
}

// Two inputs are the same up to white space between their values, and comparing them copies nothing.
func TestSameJSON(t *testing.T) {
	const text = `{"a":"x \"y\\","b":[1,2]}`
	for _, other := range []string{text, ` { "a" : "x \"y\\" ,` + "\n\t" + `"b":[ 1 , 2 ] } `} {
		require.True(t, sameJSON(json.RawMessage(text), json.RawMessage(other)))
		require.True(t, sameJSON(json.RawMessage(other), json.RawMessage(text)))
		require.Zero(t, testing.AllocsPerRun(5, func() { sameJSON(json.RawMessage(text), json.RawMessage(other)) }))
	}
	for _, other := range []string{`{}`, `{"a":"x  \"y\\","b":[1,2]}`, `{"a":"x \"y\\","b":[1,2,3]}`, `{"a":"x\"y\\","b":[1,2]}`, ``} {
		require.False(t, sameJSON(json.RawMessage(text), json.RawMessage(other)), other)
	}
}

// TestQuirk41_JSONIsWrittenAnew: what was sent of an answer stands where the snapshot has the same value in other
// letters; another value is another answer.
func TestQuirk41_JSONIsWrittenAnew(t *testing.T) {
	k := started(t, v225)
	k.push(delta("a1", `{"n": `), delta("a1", "4.0}")).says(`text a1 "{\"n\": "`, `text a1 "4.0}"`)
	k.push(assistant("a1", thinking("So."), text(`{"n":4}`))).says(`thought a1 "So."`)
	k.push(delta("a2", `{"n": 4.0}`)).says(`text a2 "{\"n\": 4.0}"`)
	k.push(assistant("a2", text(`{"n":5}`))).says("text retracted a2", `text a2~2 "{\"n\":5}"`)
	snapshot := assistant("b", text(`{"n":6}`)).(stream.MessageCreated)
	k.push(delta("b", `{"n": 6}`), snapshot).says(`text b "{\"n\": 6}"`)
	require.Equal(t, `{"n":6}`, snapshot.Message.Content[0].Text, "the event is not changed")
	k.push(delta("a3", `4.0`)).says(`text a3 "4.0"`)
	k.push(assistant("a3", text(`4`))).says("text retracted a3", `text a3~2 "4"`)
}
