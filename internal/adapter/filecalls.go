package adapter

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/editorfs"
	"droid-acp/internal/hooks"
	"droid-acp/internal/quirks"
)

// fileJob is what a hook of ours waits for. It blocks. It ends early when ctx does, with
// every file whole.
type fileJob func(ctx context.Context) hooks.Answer

// fileCalls are the open calls of a session that read or change files through the
// editor. The zero value knows none: the disk way.
type fileCalls struct {
	desk *editorfs.Desk
	post func(func()) bool // leaves work for the session's owner
	free func(func())      // runs beside the owner what lets go of files, which may block
	log  *zap.Logger
	id   atomic.Pointer[string] // by which the editor uses the session
	open []*fileCall            // in the order in which droid announced them
	// commands are calls of tools that may change any file without saying which. Those
	// that have ended are among them until the turn ends.
	commands []string
	waits    []*fileHook // hooks of calls that droid's events have not announced yet
}

// fileCall is one call of droid's Read, Create, Edit, MultiEdit or ApplyPatch.
type fileCall struct {
	id     string
	name   string
	input  json.RawMessage  // whole
	files  []string         // that it reads or changes, by absolute path
	before bool             // its hook before the tool has come
	ran    string           // droid's id of the hooks that it runs after the tool, "" before it does
	others bool             // hooks of the user's are among these
	after  bool             // our hook after the tool has come
	shadow *editorfs.Shadow // what a Read reads in place of its file, nil for that file
}

// edits reports whether the call changes files.
func (c *fileCall) edits() bool { return c.name != "Read" }

// fileHook is a hook that waits for its job.
type fileHook struct {
	request hooks.Request
	files   []string
	edit    *fileEdit // to be prepared before the job, nil for none; set with it
	answer  func(fileJob, *acp.RequestError)
}

// use begins with a process: with desk nil, files stay on the disk.
func (f *fileCalls) use(desk *editorfs.Desk, post func(func()) bool, free func(func()), log *zap.Logger) {
	f.end()
	f.desk, f.post, f.free, f.log = desk, post, free, log
}

// usedAs notes by which id the editor uses the session.
func (f *fileCalls) usedAs(id string) { f.id.Store(&id) }

// session is that id, for any goroutine.
func (f *fileCalls) session() string { return *f.id.Load() }

// end is the end of the process or of the session: nothing is open any more.
func (f *fileCalls) end() {
	f.clear()
	if f.desk != nil {
		f.free(f.desk.Close)
		f.desk = nil
	}
}

// on reports whether files go through the editor.
func (f *fileCalls) on() bool { return f.desk != nil }

// heard takes what droid says of its calls, in order, before anything is left out
// of it for the user.
func (f *fileCalls) heard(ev quirks.Event, cwd string) {
	if f.desk == nil {
		return
	}
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		f.started(ev.ID, ev.Name, ev.Input, cwd)
	case quirks.ToolInput:
		f.started(ev.ID, ev.Name, ev.Input, cwd)
	case quirks.ToolEnded:
		f.ended(ev)
	case quirks.TurnEnded:
		f.clear()
	}
}

// hooksStarted takes which hooks droid now runs after a tool. It runs edits one after the
// other. The user's own hooks run beside ours, and may well write the file that was
// edited: then it stays as droid and they leave it on the disk.
func (f *fileCalls) hooksStarted(ev stream.HookStarted) {
	if ev.EventName != afterTool {
		return
	}
	i := slices.IndexFunc(f.open, func(c *fileCall) bool { return c.edits() && c.before && c.ran == "" && c.name == ev.Tool })
	if i < 0 {
		return
	}
	f.open[i].ran = ev.HookID
	for _, command := range ev.Commands {
		f.open[i].others = f.open[i].others || !stream.IsOwnHook(command.Command)
	}
	f.serve()
}

// hooksCompleted takes that the hooks after a tool have ended. If ours was not among them,
// the edit stays on the disk: 0.99 cannot start a hook for a file of more than some 125 kB.
func (f *fileCalls) hooksCompleted(ev stream.HookCompleted) {
	for _, c := range slices.Clone(f.open) {
		if c.ran != "" && c.ran == ev.HookID && !c.after {
			f.drop(c)
		}
	}
}

// started notes a call, or its whole input.
func (f *fileCalls) started(id, name string, input json.RawMessage, cwd string) {
	files := toolFiles(name, input, cwd)
	if files == nil {
		if mayChangeFiles(name) {
			f.desk.CommandBegan(id)
			f.commands = append(f.commands, id)
		}
		return
	}
	if c := f.call(id); c != nil {
		c.input, c.files = input, files
	} else {
		f.open = append(f.open, &fileCall{id: id, name: name, input: input, files: files})
	}
	f.serve()
}

// ended lets go of what a call held. After a success the hook after the tool is still to
// come on a droid that tells the result before it (0.99).
func (f *fileCalls) ended(ev quirks.ToolEnded) {
	c := f.call(ev.ID)
	switch {
	case c == nil:
		f.desk.CommandEnded(ev.ID)
	case !c.edits() || c.after || !c.before || ev.IsError:
		f.drop(c)
	}
}

// clear lets go of all calls: the turn or the process has ended.
func (f *fileCalls) clear() {
	for _, c := range slices.Clone(f.open) {
		f.drop(c)
	}
	for _, h := range f.waits {
		h.answer(nil, nil)
	}
	f.waits = nil
	for _, id := range f.commands {
		f.desk.CommandEnded(id)
	}
	f.commands = nil
}

func (f *fileCalls) drop(c *fileCall) {
	f.open = slices.DeleteFunc(f.open, func(o *fileCall) bool { return o == c })
	if desk := f.desk; c.edits() {
		f.free(func() { desk.Drop(c.id) })
	}
	if c.shadow != nil {
		f.free(c.shadow.Close)
	}
}

// call finds an open call.
func (f *fileCalls) call(id string) *fileCall {
	if i := slices.IndexFunc(f.open, func(c *fileCall) bool { return c.id == id }); i >= 0 {
		return f.open[i]
	}
	return nil
}

// hooked finds the call that a hook came for. If droid's events have not announced it
// yet, the hook waits.
func (f *fileCalls) hooked(h *fileHook, cwd string, answer func(fileJob, *acp.RequestError)) {
	h.files, h.answer = toolFiles(h.request.Tool, h.request.Input, cwd), answer
	if f.desk == nil || h.files == nil {
		answer(nil, nil)
		return
	}
	f.waits = append(f.waits, h)
	f.serve()
}

// forget gives up a hook that waited in vain.
func (f *fileCalls) forget(h *fileHook) {
	f.waits = slices.DeleteFunc(f.waits, func(w *fileHook) bool { return w == h })
	h.answer(nil, nil)
}

// serve gives the hooks whose calls are known their jobs.
func (f *fileCalls) serve() {
	f.waits = slices.DeleteFunc(f.waits, func(h *fileHook) bool {
		job := f.job(h)
		if job != nil {
			h.answer(job, nil)
		}
		return job != nil
	})
}

// job is what is to be done for a hook, nil when its call is not known. A hook does not
// name its call; of several that are alike, droid runs the first one first.
func (f *fileCalls) job(h *fileHook) fileJob {
	i := slices.IndexFunc(f.open, func(c *fileCall) bool {
		waits := h.request.Event == beforeTool && !c.before || h.request.Event == afterTool && c.ran != "" && !c.after
		return waits && c.name == h.request.Tool && slices.Equal(c.files, h.files)
	})
	if i < 0 {
		return nil
	}
	c, desk := f.open[i], f.desk
	switch {
	case !c.edits():
		c.before = true
		return f.readJob(c, h.request.Input)
	case h.request.Event == beforeTool:
		f.over()
		c.before = true
		edit := f.edit(c)
		h.edit = &edit
		return func(context.Context) hooks.Answer { return hooks.Answer{} }
	}
	c.after = true
	if c.others {
		return func(context.Context) hooks.Answer {
			desk.Drop(c.id)
			return hooks.Answer{}
		}
	}
	return func(ctx context.Context) hooks.Answer { return hooks.Answer{Context: reminder(desk.After(ctx, c.id))} }
}

// over lets go of edits whose last hook did not come: droid runs the next one.
func (f *fileCalls) over() {
	for _, c := range slices.Clone(f.open) {
		if c.edits() && c.before && !c.after {
			f.drop(c)
		}
	}
}

// readJob has a Read see the text that the editor has. Where that is not on the disk,
// droid reads a private file in place of the one it named.
func (f *fileCalls) readJob(c *fileCall, input json.RawMessage) fileJob {
	desk, post, log, path := f.desk, f.post, f.log, c.files[0]
	return func(ctx context.Context) hooks.Answer {
		shadow, err := desk.Read(ctx, path)
		if err != nil {
			log.Warn("droid reads a file without its unsaved changes", zap.Error(err))
		}
		if shadow == nil {
			return hooks.Answer{}
		}
		if !post(func() { f.keep(c, shadow) }) {
			shadow.Close()
			return hooks.Answer{}
		}
		return hooks.Answer{UpdatedInput: withPath(input, shadow.Path)}
	}
}

// keep holds what a Read reads until its call ends.
func (f *fileCalls) keep(c *fileCall, shadow *editorfs.Shadow) {
	if f.call(c.id) != c {
		f.free(shadow.Close)
		return
	}
	c.shadow = shadow
}
