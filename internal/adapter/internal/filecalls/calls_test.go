package filecalls

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// overlay records its calls.
type overlay struct{ heard []string }

func (d *overlay) CommandBegan(id string) { d.heard = append(d.heard, "begin "+id) }
func (d *overlay) CommandEnded(id string) { d.heard = append(d.heard, "end "+id) }
func (d *overlay) Drop(id string)         { d.heard = append(d.heard, "drop "+id) }
func (d *overlay) Close()                 { d.heard = append(d.heard, "close") }

// take returns the calls since the previous take.
func (d *overlay) take() []string {
	heard := d.heard
	d.heard = nil
	return heard
}

var edit = json.RawMessage(`{"file_path":"/w/a","old_str":"1","new_str":"2"}`)

// hook has one of our hooks come, and returns what tells the answer: jobs that it was given.
func hook(c *Calls, event, tool string, input json.RawMessage) (h *Hook, answered func() []*Job) {
	h = &Hook{Event: event, Tool: tool, Input: input}
	c.Hooked(h, "/w")
	return h, func() []*Job {
		if c.Waits(h) {
			return nil
		}
		return []*Job{h.Job}
	}
}

// announce has droid announce an edit and run the hook before it.
func announce(t *testing.T, c *Calls, id string) {
	c.Handle(quirks.ToolStarted{ID: id, Name: "Edit", Input: edit}, "/w")
	_, answered := hook(c, BeforeTool, "Edit", edit)
	require.Equal(t, []*Job{{Work: Prepare, Call: quirks.ToolInput{ID: id, Name: "Edit", Input: edit}, Files: []string{"/w/a"}, Shown: true}}, answered())
}

// editing are calls with one edit whose first hook has come.
func editing(t *testing.T) (*Calls, *overlay) {
	c, d := new(Calls), new(overlay)
	c.Begin(d)
	announce(t, c, "a")
	return c, d
}

// after makes droid run hooks after an edit.
func after(c *Calls, id string, commands ...string) {
	ev := stream.HookStarted{HookID: id, EventName: AfterTool, Tool: "Edit"}
	for _, command := range append(commands, "x "+stream.OwnHook+" @y") {
		ev.Commands = append(ev.Commands, stream.HookCommand{Command: command})
	}
	c.NoteHook(ev)
}

// An edit whose last hook droid could not start is over, and holds its file no longer: 0.99
// starts none for a file of more than some 125 kB, and says so.
func TestEditWhoseLastHookCannotStart(t *testing.T) {
	c, d := editing(t)
	c.NoteHook(stream.HookStarted{HookID: "other", EventName: AfterTool, Tool: "Create"})
	c.NoteHook(stream.HookCompleted{HookID: "other"})
	require.Empty(t, d.take())
	after(c, "h")
	require.Empty(t, d.take())
	c.NoteHook(stream.HookCompleted{HookID: "h"})
	require.Equal(t, []string{"drop a"}, d.take())
	require.False(t, c.Has("a"))
}

// So is one whose last hook has not come when droid runs the next edit.
func TestEditWhoseLastHookDoesNotCome(t *testing.T) {
	c, _ := editing(t)
	c.Handle(quirks.ToolEnded{ID: "a", Name: "Edit"}, "/w")
	require.True(t, c.Has("a"), "its hook may still come (0.99)")
	announce(t, c, "b")
	require.False(t, c.Has("a"))
	require.True(t, c.Has("b"))
}

// The editor gets what droid has written, unless hooks of the user ran as well.
func TestHookAfterAnEdit(t *testing.T) {
	for _, others := range [][]string{nil, {"prettier"}} {
		c, _ := editing(t)
		_, answered := hook(c, AfterTool, "Edit", edit)
		require.Empty(t, answered(), "droid has not said that it runs it")
		after(c, "h", others...)
		want := map[int]Work{0: Deliver, 1: Leave}[len(others)]
		require.Equal(t, want, answered()[0].Work)
		require.Equal(t, "a", answered()[0].Call.ID)
		c.NoteHook(stream.HookCompleted{HookID: "h"})
		require.True(t, c.Has("a"))
		c.Handle(quirks.ToolEnded{ID: "a", Name: "Edit"}, "/w")
		require.False(t, c.Has("a"))
	}
}

// A hook waits for its call, is answered once, and gets nothing where there is none.
func TestHookThatWaits(t *testing.T) {
	read := json.RawMessage(`{"file_path":"b","offset":7}`)
	c, d := new(Calls), new(overlay)
	_, answered := hook(c, BeforeTool, "Read", read)
	require.Equal(t, []*Job{nil}, answered(), "files are on the disk")
	c.Begin(d)
	_, answered = hook(c, BeforeTool, "LS", read)
	require.Equal(t, []*Job{nil}, answered())
	h, answered := hook(c, BeforeTool, "Read", read)
	c.Handle(quirks.ToolStarted{ID: "r", Name: "Read", Input: json.RawMessage(`{}`)}, "/w")
	require.Empty(t, answered())
	c.Handle(quirks.ToolInput{ID: "r", Name: "Read", Input: read}, "/w")
	require.Len(t, answered(), 1)
	job := *answered()[0]
	require.Equal(t, Read, job.Work)
	require.Equal(t, []string{"/w/b"}, job.Files)
	require.JSONEq(t, `{"file_path":"/private","offset":7}`, string(job.At("/private")))
	c.Forget(h)
	require.Len(t, answered(), 1)
	h, answered = hook(c, BeforeTool, "Read", read)
	c.Forget(h)
	require.Equal(t, []*Job{nil}, answered())
	_, answered = hook(c, BeforeTool, "Read", read)
	c.Handle(quirks.ToolStarted{ID: "x", Name: "Execute", Input: json.RawMessage(`{}`)}, "/w")
	d.take()
	c.End()
	require.Equal(t, []*Job{nil}, answered())
	require.Equal(t, []string{"drop r", "end x", "close"}, d.take())
	require.False(t, c.On())
}

// If a call ends while a job runs for it, the job's result is released.
func TestJobThatEndsLate(t *testing.T) {
	c, d := editing(t)
	job := Job{Call: quirks.ToolInput{ID: "a"}}
	c.Done(job)
	require.Empty(t, d.take())
	c.Handle(quirks.TurnEnded{}, "/w")
	require.Equal(t, []string{"drop a"}, d.take())
	c.Done(job)
	require.Equal(t, []string{"drop a"}, d.take())
	c.End()
	d.take()
	c.Done(job)
	require.Empty(t, d.take())
}

// An edit is prepared before the user is asked, and before droid learns that they allow it, by whichever comes first: its hook or the
// question.
func TestEditThatIsAsked(t *testing.T) {
	c, _ := editing(t)
	tools := []stream.PermissionToolUse{{}, {}, {}}
	for i, id := range []string{"a", "b", "unknown"} {
		tools[i].ToolUse.ID = id
	}
	c.Handle(quirks.ToolStarted{ID: "b", Name: "Edit", Input: edit}, "/w")
	var works []string
	note := func(jobs []Job) {
		for _, j := range jobs {
			works = append(works, map[Work]string{Prepare: "prepare ", Pause: "pause ", Settle: "settle "}[j.Work]+j.Call.ID)
		}
	}
	note(c.BeforeShown(quirks.PermissionRequested{Tools: tools}, []string{"/w/a"}))
	require.Equal(t, []string{"pause a", "prepare b", "pause b"}, works)
	works = nil
	note(c.BeforeAnswer(tools))
	require.Equal(t, []string{"prepare a"}, works)
	works = nil
	note(c.BeforeShown(quirks.ToolEnded{ID: "a"}, []string{"/w/a"}))
	require.Equal(t, []string{"settle a"}, works)
	c.End()
	require.Empty(t, c.BeforeShown(quirks.ToolEnded{ID: "a"}, []string{"/w/a"}))
	require.Empty(t, c.BeforeAnswer(tools))
}
