package droid

import (
	"encoding/json"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
)

// settingsFile is the settings file of one process. The environment, headers and addresses of an editor's MCP servers may be secret, and
// so may be the headers of its models; the model can read the file without a question. So they are in it only while droid reads it
// (measured, 0.99.0 to 0.225.2):
//
//   - models: from the start until SetRuntime. A droid that has no session asks no model.
//   - from before initialize_session or load_session is sent, to a droid that has said something, until it is answered. A droid that
//     stream.ReadsSettingsLate is true of may read the file twice after that, and ends the servers that are not in it: until it asks the
//     model, or, where no prompt comes, for 1 s and four times what the answer took, bounds.late at most. (Seen: 0.04 s after it, 0.32 s
//     where ten droids started at once on two processors, 0.45 s with 0.215; never later than that it asks the model.)
//   - before 0.215, from a call of Task until the subagent has begun, which is a droid that reads the file as it starts.
//
// droid also reads the file when one of the user's settings files changes. It keeps its servers then, so they are not written back for
// that. Everything else stays in the file.
type settingsFile struct {
	replace func(data []byte) error
	late    time.Duration // see bounds
	log     *zap.Logger

	mu     sync.Mutex
	whole  []byte // what SetRuntime set, nil until then
	bare   []byte // the same without the MCP servers and models
	isBare bool   // the file has bare
	timer  *time.Timer
	since  time.Time       // when droid was asked to open the session
	tasks  map[string]bool // IDs of running Task calls: whether the subagent has begun
}

// set writes these settings; an editor's MCP servers and models are added by opening.
func (f *settingsFile) set(whole []byte, servers []stream.MCPServer) error {
	bare, models, err := hideSecrets(whole, servers)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.whole, f.bare, f.isBare = nil, bare, false // if the write fails, the content of the file is unknown
	if err := f.replace(bare); err != nil {
		return err
	}
	if f.isBare = true; models || len(servers) > 0 {
		f.whole = whole
	}
	return nil
}

// hidesServers reports whether there are servers or models that are not always in the file.
func (f *settingsFile) hidesServers() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.whole != nil
}

// hideSecrets returns settings without these MCP servers and without models, and whether there were models.
func hideSecrets(settings []byte, servers []stream.MCPServer) (bare []byte, models bool, err error) {
	var all, mcp, byName map[string]json.RawMessage
	if err := json.Unmarshal(settings, &all); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(all["mcp"], &mcp); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(mcp["mcpServers"], &byName); err != nil {
		return nil, false, err
	}
	for _, s := range servers {
		delete(byName, s.Name)
	}
	_, models = all["customModels"]
	delete(all, "customModels")
	if mcp["mcpServers"], err = json.Marshal(byName); err != nil {
		return nil, false, err
	}
	if all["mcp"], err = json.Marshal(mcp); err != nil {
		return nil, false, err
	}
	bare, err = json.Marshal(all)
	return bare, models, err
}

// put writes the file with or without the servers and models. The caller holds mu.
func (f *settingsFile) put(bare bool) error {
	if f.whole == nil || f.isBare == bare {
		return nil
	}
	data := f.whole
	if bare {
		data = f.bare
	}
	if err := f.replace(data); err != nil {
		f.log.Warn("droid's settings file cannot be written", zap.Bool("withoutServers", bare), zap.Error(err))
		return err
	}
	f.isBare = bare
	return nil
}

// opening is called before droid is asked to open a session. If it fails, droid must not be asked: it would end its MCP servers.
func (f *settingsFile) opening() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop() // of a previous opening
	f.since = time.Now()
	return f.put(false)
}

// opened is called when droid has answered, or its answer is not awaited any more.
func (f *settingsFile) opened(v stream.Version) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.whole == nil: // nothing to hide, or droid has exited
	case !v.Supports(stream.ReadsSettingsLate):
		_ = f.put(true) // a failure is logged
	default:
		f.stop()
		f.timer = time.AfterFunc(min(f.late, minLate+lateFactor*time.Since(f.since)), f.finishOpening)
	}
}

// How long the servers stay in the file after droid's answer if there is no prompt: a droid that was slow to answer is slow to read.
const (
	minLate    = time.Second
	lateFactor = 4 // multiple of the time until the answer
)

// stop ends the timer. The caller holds mu.
func (f *settingsFile) stop() {
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
}

// finishOpening is called when droid has read everything that it reads for a session.
func (f *settingsFile) finishOpening() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.stop()
		_ = f.put(true) // a failure is logged
	}
}

// close is called when droid has exited.
func (f *settingsFile) close() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop()
	f.whole = nil
}

// toolTask is droid's tool that starts a subagent (0.99 to 0.225).
const toolTask = "Task"

// handle handles an event of droid.
func (f *settingsFile) handle(ev stream.Event, v stream.Version) {
	if f == nil {
		return
	}
	switch e := ev.(type) {
	case stream.WorkingStateChanged:
		if e.State == stream.StateThinking {
			f.finishOpening()
		}
		if e.State == stream.StateIdle {
			f.subagents(func() { clear(f.tasks) })
		}
	case stream.ToolCall:
		if e.ToolUse.Name == toolTask && !v.Supports(stream.RunsSubagentsApart) {
			f.subagents(func() {
				if _, runs := f.tasks[e.ToolUse.ID]; !runs { // droid reports a call several times
					f.tasks[e.ToolUse.ID] = false
				}
			})
		}
	case stream.ToolProgress:
		f.subagents(func() {
			if _, runs := f.tasks[e.ToolUseID]; runs {
				f.tasks[e.ToolUseID] = true
			}
		})
	case stream.ToolResult:
		f.subagents(func() { delete(f.tasks, e.ToolUseID) })
	}
}

// subagents changes f.tasks. The servers are in the file while a subagent has not begun.
func (f *settingsFile) subagents(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.tasks)
	change()
	if before == 0 && len(f.tasks) == 0 || f.timer != nil {
		return
	}
	bare := true
	for _, begun := range f.tasks {
		bare = bare && begun
	}
	_ = f.put(bare) // a failure is logged
}
