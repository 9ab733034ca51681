package quirks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

const (
	childOne = "11111111-0000-4000-8000-000000000000"
	childTwo = "22222222-0000-4000-8000-000000000000"
)

// startsTask begins a turn in which a subagent works for each of the ids: for the calls t, t2, ….
func startsTask(t *testing.T, children ...string) *talk {
	k := started(t, v225)
	for i, child := range children {
		call := "t" + []string{"", "2"}[i]
		k.push(stream.ToolCall{ToolUse: stream.ToolUse{ID: call, Name: "Task", Input: json.RawMessage(`{"description":"look"}`)}},
			stream.ChildSessionAvailable{ChildID: child, ToolUseID: call, Description: "look"})
	}
	k.lines = nil
	return k
}

// asks is a subagent's request.
func asks(child, request string, calls ...string) stream.Event {
	ev := permission(request, calls...).(stream.PermissionRequest)
	ev.Sessions = []string{child, "parent"}
	return ev
}

func allowed(request string, calls ...string) stream.Event {
	return stream.PermissionResolved{RequestID: request, ToolUseIDs: calls, SelectedOption: stream.OptionOnce}
}

func inBackground(call, child string) stream.Event {
	return result(call, launchedPrefix+child+"\nsession_id: "+child)
}

func reports(child, reason string) stream.Event {
	return stream.MessageCreated{RequestID: reportIDPrefix + child, Message: stream.Message{ID: reportIDPrefix + child, Role: stream.RoleSystem, Visibility: stream.VisibilityLLMOnly,
		Content: []stream.ContentBlock{text("Background task completed.\ntask_id: " + child + "\ntype: worker\nreason: " + reason +
			"\ndescription: look\noutput: task_id: x\n\nfound it\n\nBackground task \"look\" (" + child + ") just completed.")}}}
}

// wrote are lines of a subagent's file.
func (k *talk) wrote(child string, lines ...string) *talk {
	file := []byte{}
	for _, line := range lines {
		file = append(file, line+"\n"...)
	}
	return k.got(k.n.HandleSubagentLines(k.now, child, childLines(file)))
}

func (k *talk) lost(child string) *talk { return k.got(k.n.EndSubagentFile(k.now, child)) }

// Lines of a subagent's file.
func uses(id, input string) string {
	return fmt.Sprintf(`{"type":"message","message":{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Execute","input":%s}]}}`, id, input)
}

func gives(id, text string) string {
	return fmt.Sprintf(`{"type":"message","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}}`, id, text)
}

const outcome = `{"type":"agent_turn_outcome","reason":"cancelled"}`

// The models of a session and of its subagents choose the IDs of their calls independently, so IDs may be the same.
func TestQuirk40_IDsOfSubagentsDoNotMeet(t *testing.T) {
	k := startsTask(t, childOne, childTwo).push(toolCall("c", abc), asks(childOne, "r1", "c"), asks(childTwo, "r2", "c"))
	k.says(`tool c started: Execute {"command":"abc"}`,
		`tool 11111111.c started: Execute {"command":"abc"}`, `permission r1 asked by subagent "look" for 11111111.c Execute (exec); options `,
		`tool 22222222.c started: Execute {"command":"abc"}`)
	k.answer("r1", false).says(`permission r2 asked by subagent "look" for 22222222.c Execute (exec); options `)
	k.push(allowed("r1", "c")).says("tool 11111111.c runs") // and neither of the others
	k.push(result("c", "droid's")).says(`tool c ended "droid's"`)
	k.answer("r2", false).push(allowed("r2", "c")).says("tool 22222222.c runs")
	k.wrote(childTwo, uses("c", string(abc)), gives("c", "two's")).
		says(`tool 22222222.c ended "two's"`, `subagent 22222222 of t2: Execute {"command":"abc"}`)
	k.wrote(childOne, uses("c", string(abc)), gives("c", "one's")).
		says(`tool 11111111.c ended "one's"`, `subagent 11111111 of t: Execute {"command":"abc"}`)
}

// A model may use an id again, so an earlier result with that id does not end a request to the user.
func TestQuirk40_EarlierResultWithTheSameID(t *testing.T) {
	k := startsTask(t, childOne).push(asks(childOne, "r", "c")).answer("r", false).push(allowed("r", "c"))
	k.says(`tool 11111111.c started: Execute {"command":"abc"}`, `permission r asked by subagent "look" for 11111111.c Execute (exec); options `, "tool 11111111.c runs")
	k.wrote(childOne, uses("c", string(xyz)), gives("c", "of another")).says(`subagent 11111111 of t: Execute {"command":"xyz"}`)
	k.wrote(childOne, strings.Replace(uses("c", string(abc)), "Execute", "Read", 1), gives("c", "of another tool")).says(`subagent 11111111 of t: Read {"command":"abc"}`)
	k.wrote(childOne, gives("c", "of none")).says()
	k.wrote(childOne, uses("c", string(abc))).says(`subagent 11111111 of t: Execute {"command":"abc"}`)
	k.wrote(childOne, gives("c", "its own")).says(`tool 11111111.c ended "its own"`)
	require.Empty(t, k.n.subagents[childOne].uses)
}

// droid may ask twice for one call, as when the sandbox holds it back. Another input is another call.
func TestQuirk40_TwoRequestsForOneCall(t *testing.T) {
	k := startsTask(t, childOne).push(asks(childOne, "r1", "c")).answer("r1", false).push(allowed("r1", "c"), asks(childOne, "r2", "c"), asks(childOne, "r2", "c"))
	k.says(`tool 11111111.c started: Execute {"command":"abc"}`, `permission r1 asked by subagent "look" for 11111111.c Execute (exec); options `, "tool 11111111.c runs",
		`permission r2 asked by subagent "look" for 11111111.c Execute (exec); options `)
	other := asks(childOne, "r3", "c").(stream.PermissionRequest)
	other.ToolUses[0].ToolUse.Input = xyz
	k.push(other).says(`tool 11111111.c~2 started: Execute {"command":"xyz"}`)
}

// A request of a background subagent outlasts the turn that began it, and its call continues.
func TestQuirk40_BackgroundOutlivesTheTurn(t *testing.T) {
	k := startsTask(t, childOne).push(inBackground("t", childOne), asks(childOne, "r1", "a"), asks(childOne, "r2", "b"))
	k.says("tool t ended, its subagent goes on",
		`tool 11111111.a started: Execute {"command":"abc"}`, `permission r1 asked by subagent "look" for 11111111.a Execute (exec); options `,
		`tool 11111111.b started: Execute {"command":"abc"}`)
	k.push(completed("completed", "u1"), idle).says(`turn ended, prompt "p1", completed, reason "completed"`)
	k.answer("r1", false).says(`permission r2 asked by subagent "look" for 11111111.b Execute (exec); options `)
	k.push(reports(childOne, "completed"), reports(childOne, "completed")).says("ask withdrawn r2", "subagent 11111111 stops", `subagent 11111111 reports, named "look", reason "completed"`)
	k.wrote(childOne, uses("a", string(abc)), gives("a", "ok")).
		says(`tool 11111111.a ended "ok"`, `subagent 11111111 of t: Execute {"command":"abc"}`,
			`subagent 11111111 ended, of "t", named "look", gone false, reason "completed": "task_id: x\n\nfound it"`)
	k.lost(childOne).says("tool 11111111.b ended unfinished").lost(childOne).says() // nobody allowed it
}

// While the turn is cancelled, a request of droid's own is taken back, one of the background's is not, and comes behind the
// end of the turn.
func TestQuirk40_RequestBehindTheEndOfTheTurn(t *testing.T) {
	k := startsTask(t, childOne).push(inBackground("t", childOne), toolCall("c", abc), permission("own", "c"), asks(childOne, "r", "a"))
	k.lines = nil
	k.push(completed("cancelled", "u1"), idle).says("ask withdrawn own", "tool c ended unfinished", `turn ended, prompt "p1", cancelled, reason "cancelled"`,
		`permission r asked by subagent "look" for 11111111.a Execute (exec); options `)
}

// One that comes while the turn is being stopped is not refused with it.
func TestQuirk40_RequestWhileTheTurnIsStopped(t *testing.T) {
	k := startsTask(t, childOne).push(inBackground("t", childOne)).interrupt().push(asks(childOne, "r", "a"))
	k.says("tool t ended, its subagent goes on", `tool 11111111.a started: Execute {"command":"abc"}`)
	k.push(completed("cancelled", "u1"), idle).says(`turn ended, prompt "p1", cancelled, reason "cancelled"`,
		`permission r asked by subagent "look" for 11111111.a Execute (exec); options `)
}

// One that droid settles before it was returned is not withdrawn: nobody has it.
func TestQuirk40_RequestSettledWhileTheTurnIsStopped(t *testing.T) {
	k := startsTask(t, childOne).push(inBackground("t", childOne)).interrupt().push(asks(childOne, "r", "a"))
	k.lines = nil
	k.push(stream.PermissionResolved{RequestID: "r", SelectedOption: stream.OptionCancel}).says()
	k.push(completed("cancelled", "u1"), idle).says(`turn ended, prompt "p1", cancelled, reason "cancelled"`)
}

// A subagent that is waited for ends with its call, however that ends.
func TestQuirk40_ForegroundEndsWithItsCall(t *testing.T) {
	k := startsTask(t, childOne).push(asks(childOne, "r", "a"))
	k.lines = nil
	k.push(completed("cancelled", "u1"), idle).
		says("ask withdrawn r", "subagent 11111111 stops", "tool t ended unfinished", `turn ended, prompt "p1", cancelled, reason "cancelled"`)
	k.wrote(childOne).says(`subagent 11111111 ended, of "", named "look", gone false, reason "": ""`)
	k.lost(childOne).says("tool 11111111.a ended unfinished")
}

// A refusal to a subagent does not count as a refusal of the turn when the end of the turn is judged.
func TestQuirk40_RefusalOfASubagent(t *testing.T) {
	k := startsTask(t, childOne).push(asks(childOne, "r", "a")).answer("r", true).push(stream.PermissionResolved{RequestID: "r", SelectedOption: stream.OptionCancel})
	k.lines = nil
	k.push(result("t", "Error: Failed"), idle).after(time.Minute)
	k.says("subagent 11111111 stops", `tool t ended "Error: Failed"`,
		`turn ended, prompt "p1", failed, reason "", failure error  "droid became idle without saying how the turn ended" advice ""`)
}

// A call may continue with a subagent that has ended. Earlier lines of its file are not reported again, and end nothing.
func TestQuirk40_SubagentIsResumed(t *testing.T) {
	at := func(seconds int, line string) string {
		return fmt.Sprintf(`{"timestamp":%q,`, epoch.Add(time.Duration(seconds)*time.Second).Format(time.RFC3339)) + line[1:]
	}
	k := started(t, v225).push(stream.ToolCall{ToolUse: stream.ToolUse{ID: "t", Name: "Task", Input: abc}},
		stream.ChildSessionAvailable{ChildID: childOne, ToolUseID: "t", Description: "look", Timestamp: stream.Millis(epoch.UnixMilli())}, inBackground("t", childOne))
	k.lines = nil
	k.wrote(childOne, at(-60, uses("c", string(xyz))), at(-59, gives("c", "before")), outcome).says()
	k.after(time.Minute).wrote(childOne).says()
	k.wrote(childOne, at(1, uses("c", string(abc)))).says(`subagent 11111111 of t: Execute {"command":"abc"}`)
	k.push(reports(childOne, "completed")).wrote(childOne)
	k.lines = nil
	k.push(stream.ToolCall{ToolUse: stream.ToolUse{ID: "t2", Name: "Task", Input: abc}}, stream.ChildSessionAvailable{ChildID: childOne, ToolUseID: "t2", Type: "worker"},
		asks(childOne, "r", "c")).
		says(`tool t2 started: Task {"command":"abc"}`, "subagent 11111111 began", `tool 11111111.c started: Execute {"command":"abc"}`,
			`permission r asked by subagent "worker" for 11111111.c Execute (exec); options `)
}

// One that the model stops reports nothing: then its file counts.
func TestQuirk40_StoppedWithoutAReport(t *testing.T) {
	k := startsTask(t, childOne).push(inBackground("t", childOne)).wrote(childOne, uses("c", string(abc)), outcome)
	k.lines = nil
	k.after(reportTime - time.Second).wrote(childOne).says()
	k.after(time.Second).wrote(childOne).says("subagent 11111111 stops").
		wrote(childOne).says(`subagent 11111111 ended, of "t", named "look", gone false, reason "cancelled": ""`)
}

// A subagent's own subagents are not announced. They are called as it is, and end with it.
func TestQuirk40_SubagentOfASubagent(t *testing.T) {
	ev := asks(childTwo, "r", "c").(stream.PermissionRequest)
	ev.Sessions = []string{childTwo, childOne, "parent"}
	k := startsTask(t, childOne).push(inBackground("t", childOne), ev)
	k.says("tool t ended, its subagent goes on", "subagent 22222222 began", `tool 22222222.c started: Execute {"command":"abc"}`,
		`permission r asked by subagent "look" for 22222222.c Execute (exec); options `)
	k.wrote(childTwo, uses("c", string(abc))).says()
	k.push(reports(childOne, "completed")).says("ask withdrawn r", "subagent 22222222 stops", "subagent 11111111 stops", `subagent 11111111 reports, named "look", reason "completed"`)
}

// When droid dies, nothing of its subagents stays open.
func TestQuirk40_DroidDies(t *testing.T) {
	k := startsTask(t, childOne, childTwo).push(inBackground("t", childOne), asks(childOne, "r1", "c")).answer("r1", false).push(allowed("r1", "c"), asks(childTwo, "r2", "c"))
	k.lines = nil
	k.exit().says("tool 11111111.c ended, it is not known how", `subagent 11111111 ended, of "t", named "look", gone true, reason "": ""`,
		"ask withdrawn r2", "tool 22222222.c ended unfinished", `subagent 22222222 ended, of "", named "look", gone true, reason "": ""`,
		"tool t2 ended unfinished", `turn ended, prompt "p1", failed, reason "process_exit", failure process_exit  "" advice ""`)
	k.check.over()
	k.wrote(childOne, uses("c", string(abc)), gives("c", "late")).exit()
	k.lines = nil
	k.says()
}

// A subagent may have ended without an answer.
func TestQuirk40_ReportWithoutOutput(t *testing.T) {
	r, ok := reportOf(stream.Message{ID: reportIDPrefix + "1", Content: []stream.ContentBlock{
		text("Background task completed.\nreason: completed\ntask_id: " + childOne + "\ndescription: look\nreason: another\noutput: \n\nBackground task \"look\" (" + childOne + ") just completed.")}})
	require.True(t, ok)
	require.Equal(t, report{id: childOne, reason: "completed"}, r)
}

// A report is shown as nothing else, whatever its subagent says last.
func TestQuirk40_ReportLikeAnotherMessage(t *testing.T) {
	started(t, v225).push(stream.MessageCreated{Message: stream.Message{ID: reportIDPrefix + "1", Role: stream.RoleSystem, Visibility: stream.VisibilityLLMOnly,
		Content: []stream.ContentBlock{text("task_id: " + childOne + "\noutput: Continue where you left off.")}}}).says()
}

// A turn that a report begins may come between a prompt and its echo. Its end is not that of the prompt.
func TestQuirk40_ReportBeforeThePrompt(t *testing.T) {
	k := startsTask(t, childOne).push(inBackground("t", childOne), completed("completed", "u1"), idle)
	k.lines = nil
	k.begin("p2").push(streaming, reports(childOne, "completed"), delta("a", "done"), assistant("a", text("done")), completed("completed", "task-completion:1"), idle)
	k.says("subagent 11111111 stops", `subagent 11111111 reports, named "look", reason "completed"`, `text a "done"`)
	k.push(streaming, user("p2", "u2"), completed("completed", "u2"), idle).
		says(`turn started, prompt "p2", message u2`, `turn ended, prompt "p2", completed, reason "completed"`)
}

// Texts in a subagent's answer do not count as droid's text.
func TestQuirk40_AnswerThatLooksLikeALaunch(t *testing.T) {
	k := startsTask(t, childOne)
	k.push(result("t", "session_id: "+childOne+"\n"+launchedPrefix+childOne)).says("subagent 11111111 stops", `tool t ended "session_id: `+childOne+`\n`+`Task launched in background.\ntask_id: `+childOne+`"`)
	k = startsTask(t, childOne).push(inBackground("t", childTwo))
	k.says("subagent 11111111 stops", `tool t ended "Task launched in background.\ntask_id: `+childTwo+`\nsession_id: `+childTwo+`"`)
	require.False(t, startsTask(t, "../x").n.SubagentRunning("../x"))
}
