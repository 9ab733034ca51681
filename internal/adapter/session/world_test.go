//go:build linux

package session_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/adapter"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/workspace/trust"
)

// A world is two windows, each with its own agent, on one store and in one project, and the droids of both. The steps in it are drawn from
// a seed. world_rules_test.go has what must hold after any steps.
type world struct {
	t      *testing.T
	seed   int64
	root   string // of the store
	dir    string // the project
	brings bool   // it brings something to run
	store  fakedroid.Sessions
	wins   [2]*window

	mu        sync.Mutex
	rng       *rand.Rand // how long droid takes
	ids       []string   // of the sessions, as editors know them
	droids    []*worldDroid
	asks      []*request   // all that was asked, in order
	words     int          // that droid's model has said
	starts    map[int]bool // the words that begin what it says
	speaks    map[int]*request
	allowed   int // answers of users that allow something, less those that droid got
	made      []madeSession
	titles    map[string]*titleOf
	armed     []trap
	slow      time.Time     // until when the disk hangs
	trouble   string        // what droid does with a change of settings
	over      bool          // the windows are closed
	faulty    bool          // a fault has struck
	clock     bubbleClock   // of files
	distrusts bool          // the user has taken the trust in the project back
	allows    time.Time     // when a user last said yes to it
	lost      []*worldDroid // whose commands in the background ended with it
	broken    []string      // what did not hold
	log       []string      // what was said
	logs      bool
	began     time.Time

	goroutines int // that run before a window asks for anything
}

// step is one action, and a fault that occurs after so many more lines to droids.
type step struct {
	op       string
	win, ses int
	n        int
	fault    string
	lines    int
	wait     time.Duration
}

func (s step) String() string {
	return fmt.Sprintf("{%q, %d, %d, %d, %q, %d, %d},", s.op, s.win, s.ses, s.n, s.fault, s.lines, s.wait)
}

// window is an editor and its agent.
type window struct {
	*editor
	w       *world
	n       int
	heard   int // lines
	asked   map[string]*questionOf
	order   []string             // the same, as they came
	threads map[string]*threadOf // by the id of the session
	calls   map[[2]string]string // what became of each call, by the session's id and its own
	muted   bool
	late    bool // it was muted, so what it was asked may not have been answered in time
	pipe    hookPipe
	errors  *observer.ObservedLogs
	edited  []*worldFile
}

// questionOf is a question that the user has not answered.
type questionOf struct {
	session, title string
	options        []string
}

// threadOf is a session as a window's user knows it.
type threadOf struct {
	open     bool     // in this window's agent
	closed   int      // when it was last asked to close
	at       string   // the droid session in which the thread continues, "" if unknown
	replayed []string // prompts that the last load has shown
	shown    string   // what was said by the model or this agent
	parsed   int      // of it
	words    []int    // of the model, in it
	modes    []*modeAsked
	bound    stream.Mode // the mode that the user knows, before modes
	steered  time.Time   // when a message last began another turn
}

// modeAsked is a mode that the user asked for.
type modeAsked struct {
	mode   stream.Mode
	n      int  // of the request
	failed bool // and the user knows
}

// request is a request of an editor.
type request struct {
	id, method, session, text string
	win                       *window
	n                         int
	answered                  bool
	at                        time.Time
	mode                      *modeAsked
	strict                    bool // a change to a stricter mode, with no change of mode or title before it
	title                     string
	bound                     stream.Mode
	distrusted                bool // the user had taken the trust back, and knew that it was done
	restarted                 bool // the history that it loads has begun
	replayed                  []string
	shown                     int // how much was shown of its thread
	from, to                  int // words that droid said for it
}

// madeSession is a session that droid made of another one, for a window.
type madeSession struct {
	win      *window
	from, to string
}

// titleOf is the expected title of a session. If two titles are set at the same time, or in both windows, it is unknown.
type titleOf struct {
	want     string
	win      *window
	pending  int
	together bool
	unsure   bool
}

// trap is a fault that occurs after so many lines to droids.
type trap struct {
	lines  int
	strike func()
}

// worldDroid is a process.
type worldDroid struct {
	w        *world
	win      *window
	name     string
	client   *droid.Client
	kill     func()
	d        *fakedroid.Droid  // touched by its goroutine
	asked    map[string]*askOf // its questions, by id
	children int
	session  string
	of       *threadOf // whose children these are
	rewinds  string    // the session in which it goes back
	has      string    // the session that it was asked to load last
	settings string    // what its settings file holds
	edits    *worldFile
	edit     int // the prompt for which it edits that file
	modern   bool
	spawned  []spawned
	crashed  bool
}

// askOf is a question of droid's.
type askOf struct {
	answered bool
	resolved bool // droid says so, of what it got an answer to or an interrupt for; an answer may cross that
}

func (a *askOf) isOpen() bool { return !a.answered && !a.resolved }

func (w *world) breaks(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// note logs a message for the reader of a failure.
func (w *world) note(who, way string, line []byte) {
	othersFirst()
	if !w.logs {
		return
	}
	var m struct {
		Params struct {
			Notification struct{ Type, NewState string }
		}
	}
	_ = json.Unmarshal(line, &m)
	n := m.Params.Notification
	if n.Type == "assistant_text_delta" {
		return
	} else if n.Type != "" {
		line = []byte(n.Type + " " + n.NewState)
	}
	text := strings.TrimSpace(string(line))
	for _, noise := range []string{`"jsonrpc":"2.0",`, `"factoryApiVersion":"1.0.0",`, `"type":"request",`, w.root, w.dir} {
		text = strings.ReplaceAll(text, noise, "")
	}
	w.log = append(w.log, fmt.Sprintf("%9.3f %s %s %.250s", time.Since(w.began).Seconds(), who, way, text))
}

// othersFirst lets other runnable goroutines run first, so that simultaneous events come in any order.
func othersFirst() {
	for range rand.Intn(20) {
		runtime.Gosched()
	}
}

// lag is how long droid takes over something.
func (w *world) lag(most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int63n(int64(most))) + time.Millisecond
}

// newWorld opens both windows, with a session each.
func newWorld(t *testing.T, seed int64, v fakedroid.Version, logs bool) *world {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{t: t, seed: seed, root: filepath.Join(base, "sessions"), dir: filepath.Join(base, "project"), rng: rand.New(rand.NewSource(seed)), titles: map[string]*titleOf{}, starts: map[int]bool{}, speaks: map[int]*request{}, clock: bubbleClock{seen: map[[3]int64]time.Time{}}, began: time.Now(), logs: logs}
	require.NoError(t, os.MkdirAll(filepath.Join(w.root, "-p"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(w.dir, ".git"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(w.dir, ".factory"), 0o755))
	if w.brings = seed%3 == 0; w.brings { // else nobody is asked about the project, and more happens
		require.NoError(t, os.WriteFile(filepath.Join(w.dir, ".factory", "mcp.json"), []byte(someServer), 0o644))
	}
	w.goroutines = goroutines()
	inBuffers := seed%5 == 0 || seed%5 == 2
	for n := range w.wins {
		synctest.Wait()
		before := goroutines()
		win := &window{w: w, n: n, asked: map[string]*questionOf{}, threads: map[string]*threadOf{}, calls: map[[2]string]string{}}
		core, errors := observer.New(zap.ErrorLevel)
		win.errors = errors
		win.editor = openAt(t, w.dir, func(int) (*droid.Client, error) { return w.startDroid(win, v), nil }, zap.New(core), func(c *adapter.Config) {
			if inBuffers {
				c.Journal, c.Listen, c.Modified = filepath.Join(base, "journal"), win.pipe.listen, w.clock.changed
			}
		})
		win.onAsk = func(json.RawMessage, json.RawMessage) bool { return true }
		win.agent.Config.Store = store.New(w.root, zap.NewNop())
		win.agent.Config.Trust = trust.New(trust.Options{Home: base, File: filepath.Join(base, "trust.json")})
		win.agent.Config.ParkAfter = 3 * time.Minute
		win.hasFiles(inBuffers)
		win.agent.Launcher.Stat = os.Stat
		win.agent.Calls.BeforeCall = func(files.CallName) {
			othersFirst()
			w.mu.Lock()
			until := w.slow
			w.mu.Unlock()
			time.Sleep(time.Until(until))
		}
		w.wins[n] = win
		synctest.Wait()
		w.goroutines += goroutines() - before
		can := `{}`
		if win.files != nil {
			can = bothMethods
		}
		if seed%2 == 1 && can == "{}" { // subagents are sessions
			can = takesSubagents
		}
		require.Nil(t, win.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+can+`,`+asZed+`}`).Error)
		win.does("session/new", "", `"cwd":`+quoted(w.dir)+`,"mcpServers":[]`, nil)
		w.sleep(10 * time.Second)
		win.prompts("session/prompt", w.ids[n], "p%d says") // there is something to go back to
		w.sleep(10 * time.Second)
	}
	return w
}

// goroutines is how many run. One that has ended counts until its thread has put it away, which synctest.Wait does not
// wait for; what stops the world does.
func goroutines() int {
	runtime.ReadMemStats(new(runtime.MemStats))
	return runtime.NumGoroutine()
}

// startDroid starts a process for a window.
func (w *world) startDroid(win *window, v fakedroid.Version) *droid.Client {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	p := &worldDroid{w: w, win: win, asked: map[string]*askOf{}, modern: v == fakedroid.V0225}
	p.client = droid.NewClientWithSettings(stdout, tapped{stdin, p.told}, func(data []byte) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.settings = string(data)
		return nil
	}, zap.NewNop())
	p.client.StubChildren(func() bool { w.mu.Lock(); defer w.mu.Unlock(); return p.children > 0 })
	p.kill = func() { _ = out.Close(); _ = in.CloseWithError(io.ErrClosedPipe) }
	w.mu.Lock()
	w.droids = append(w.droids, p)
	p.name = fmt.Sprintf("  droid %d of window %d", len(w.droids), win.n)
	w.mu.Unlock()
	options := append(p.answers(), fakedroid.WithVersion(v), fakedroid.WithSessions(&w.store), fakedroid.WithPace(20*time.Millisecond))
	if win.files != nil {
		options = append(options, fakedroid.WithHooks(p.hooks()))
	}
	go func() {
		_ = fakedroid.Run(in, tapped{out, p.said}, p.script, options...)
		_ = in.CloseWithError(io.ErrClosedPipe)
		select {
		case <-time.After(leavesAfter):
		case <-p.client.Exited():
		}
		_ = out.Close()
		<-p.client.Exited()
		p.gone()
	}()
	return p.client
}

// answers are droid's responses to requests.
func (p *worldDroid) answers() []fakedroid.Option {
	w := p.w
	slowly := func(most time.Duration, then fakedroid.Answer) fakedroid.Answer {
		return func(map[string]any) (any, string) { return fakedroid.Later{After: w.lag(most), Then: then}, "" }
	}
	makes := func(make func(params map[string]any) (string, string)) fakedroid.Answer {
		return func(params map[string]any) (any, string) {
			to, title := make(params)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.made = append(w.made, madeSession{p.win, p.d.Session(), to})
			w.file(to, title)
			return fakedroid.Fields{"newSessionId": to, "removedCount": 4, "restoredCount": 1}, ""
		}
	}
	return []fakedroid.Option{
		fakedroid.WithAnswer("droid.compact_session", slowly(20*time.Second, makes(func(map[string]any) (string, string) { return w.store.Add(w.dir), "" }))),
		fakedroid.WithAnswer("droid.get_rewind_info", slowly(time.Second, func(map[string]any) (any, string) { return fakedroid.Fields{}, "" })),
		fakedroid.WithAnswer("droid.execute_rewind", slowly(4*time.Second, makes(func(params map[string]any) (string, string) {
			w.mu.Lock()
			p.rewinds = ""
			w.mu.Unlock()
			return w.store.Before(p.d.Session(), params["messageId"].(string)), params["forkTitle"].(string)
		}))),
		fakedroid.WithAnswer("droid.rename_session", func(params map[string]any) (any, string) { // it is stored at once
			after := w.lag(time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.file(p.d.Session(), params["title"].(string))
			return fakedroid.Later{After: after, Then: func(map[string]any) (any, string) { return fakedroid.Fields{"success": true}, "" }}, ""
		}),
		fakedroid.WithAnswer("droid.update_session_settings", func(map[string]any) (any, string) {
			time.Sleep(w.lag(300 * time.Millisecond))
			w.mu.Lock()
			defer w.mu.Unlock()
			switch w.trouble {
			case "refuses":
				return nil, "not today"
			case "ignores":
				return fakedroid.Fields{}, ""
			case "silent":
				return fakedroid.NoAnswer{}, ""
			}
			return nil, ""
		}),
	}
}

// file writes droid's file of a session to the disk.
func (w *world) file(id, title string) {
	lines := fmt.Sprintf(`{"type":"session_start","id":%q,"title":%q,"sessionTitle":%q,"isSessionTitleManuallySet":%t,"cwd":%q}`, id, title, title, title != "", w.dir) + "\n" +
		`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}` + "\n"
	if err := os.WriteFile(filepath.Join(w.root, "-p", id+".jsonl"), []byte(lines), 0o600); err != nil {
		w.breaks("%v", err)
	}
}

// told handles what a droid receives.
func (p *worldDroid) told(line []byte) {
	w := p.w
	var m struct {
		Type, ID, Method string
		Params           struct{ SessionID string }
	}
	_ = json.Unmarshal(line, &m)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(p.name, "is told", line)
	switch m.Method {
	case "droid.execute_rewind":
		p.rewinds = m.Params.SessionID
	case "droid.load_session":
		p.has = m.Params.SessionID
		for _, other := range w.droids {
			if other != p && other.win == p.win && other.has == p.has && !other.ended() {
				w.breaks("a session is in two droids: of window %d, %s", p.win.n, p.has)
			}
		}
	}
	if m.Type == "response" {
		if ask := p.asked[m.ID]; ask == nil || ask.answered {
			w.breaks("droid got an answer to what it does not ask: %s", line)
		} else {
			ask.answered = true
		}
		if strings.Contains(string(line), `"proceed`) {
			if w.allowed--; w.allowed < 0 {
				w.breaks("droid was told yes, and no user has said so: %s", line)
			}
		}
	}
	w.counts()
}

// counts counts a line for the faults.
func (w *world) counts() {
	w.armed = slices.DeleteFunc(w.armed, func(a trap) bool {
		if a.lines > 0 {
			return false
		}
		go a.strike()
		return true
	})
	for i := range w.armed {
		w.armed[i].lines--
	}
}

// said processes a message of a droid.
func (p *worldDroid) said(line []byte) {
	p.w.mu.Lock()
	p.w.note(p.name, "says", line)
	p.w.mu.Unlock()
	var m struct {
		Type, ID string
		Params   struct {
			Notification struct{ Type, Content, RequestID string }
		}
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if m.Type == "request" {
		p.asked[m.ID] = new(askOf)
	}
	if ask := p.asked[m.Params.Notification.RequestID]; m.Params.Notification.Type == "permission_resolved" && ask != nil {
		ask.resolved = true
	}
	if m.Params.Notification.Type == "tool_result" {
		p.worked(m.Params.Notification.Content)
	}
}

// gone notes that a droid has ended.
func (p *worldDroid) gone() {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.children > 0 && !p.crashed && !w.over {
		w.lost = append(w.lost, p)
	}
}

var promptNumber = regexp.MustCompile(`\bp(\d+) (\w+)`)

// script plays each prompt by its second word.
func (p *worldDroid) script(d *fakedroid.Droid) error {
	p.d = d
	for {
		answered, err := p.awaits()
		if err != nil {
			return err
		}
		if answered {
			if err := p.reports(); err != nil {
				return err
			}
			continue
		}
		prompt, err := d.AwaitPrompt()
		if err != nil {
			return err
		}
		kind := p.begins(prompt.Text)
		if err := d.Turn(prompt, func() error { return p.turn(kind, prompt.Text, p.asking(prompt.Text)) }); err != nil {
			return err
		}
		if kind == "reports" {
			if err := d.Pause(time.Second); err != nil {
				return err
			}
			err := d.Turn(fakedroid.Prompt{RequestID: "task-completion:" + prompt.RequestID, Text: "A subagent has ended.", Hidden: true}, func() error { return p.speak(5, nil) })
			if err != nil {
				return err
			}
		}
	}
}

func (p *worldDroid) asking(text string) *request {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := promptNumber.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	n, _ := strconv.Atoi(m[1])
	return w.asks[n]
}

// speak writes n words, each of which is unique in the world.
func (p *worldDroid) speak(n int, of *request) error {
	w := p.w
	w.mu.Lock()
	var text strings.Builder
	from := w.words
	w.starts[from] = true
	for range n {
		fmt.Fprintf(&text, "w%d. ", w.words)
		w.speaks[w.words] = of
		w.words++
	}
	to := w.words
	w.mu.Unlock()
	if err := p.d.Say("", text.String()); err != nil {
		return err
	}
	if of != nil {
		w.mu.Lock()
		of.from, of.to = from, to
		w.mu.Unlock()
	}
	return nil
}

// turn plays the model's turn.
func (p *worldDroid) turn(kind, text string, of *request) error {
	tool := touch
	tool.ID = ""
	switch kind {
	case "long":
		return p.speak(200, of)
	case "tool":
		if err := p.d.Use("", "", tool); err != nil {
			return err
		}
	case "asks":
		if _, err := p.d.AskUser("", fakedroid.Question{Topic: "Color", Question: "Which color?", Options: []string{"Red", "Blue"}}); err != nil {
			return err
		}
	case "delegates", "spawns":
		if err := p.delegates(kind == "delegates"); err != nil {
			return err
		}
	case "edits":
		if err := p.changes(text, of); err != nil {
			return err
		}
	case "background":
		tool.Input = fakedroid.Fields{"command": "sleep 1000", "fireAndForget": true}
		tool.Result = "Background process started (PID: 554)\n"
		if err := p.d.Use("", "", tool); err != nil {
			return err
		}
		p.w.mu.Lock()
		p.children++
		if of != nil {
			p.of, p.session = of.win.thread(of.session), of.session
		}
		p.w.mu.Unlock()
	}
	return p.speak(5, of)
}

func (win *window) thread(id string) *threadOf {
	if win.threads[id] == nil {
		win.threads[id] = &threadOf{bound: stream.ModeNormal}
	}
	return win.threads[id]
}

// does sends a request about a session.
func (win *window) does(method, session, params string, mode *modeAsked) *request {
	return win.says(method, session, params, mode, "")
}

// says is does for a prompt that is a command of the agent.
func (win *window) says(method, session, params string, mode *modeAsked, command string) *request {
	w := win.w
	a := &request{method: method, session: session, text: command, win: win, at: time.Now(), bound: stream.ModeAutoHigh}
	w.mu.Lock()
	w.hearNow()
	a.n = len(w.asks)
	w.asks = append(w.asks, a)
	if session != "" {
		params = fmt.Sprintf(`"sessionId":%q,`, session) + params
		a.bound, a.shown, a.distrusted = win.thread(session).wanted(win.muted, a.n), len(win.thread(session).shown), w.distrusts
	}
	if w.pending(win, session, "session/load") != nil || w.pending(win, session, "session/resume") != nil {
		a.bound = stream.ModeAutoHigh // as the answer will tell
	}
	if method == "session/close" {
		t := win.thread(session)
		t.open, t.closed = false, a.n
	}
	if mode != nil {
		mode.n, a.mode = a.n, mode
		t := win.thread(session)
		changes := func(b *request) bool { return b.session == session && !b.answered && (b.mode != nil || b.title != "") }
		failed := func(m *modeAsked) bool { return m.failed } // so it is not known which mode holds
		a.strict = method == "session/set_mode" && !slices.ContainsFunc(w.asks[:a.n], changes) && !slices.ContainsFunc(t.modes, failed) &&
			mode.mode.AsksAsMuchAs(t.wanted(false, a.n))
		t.modes = append(t.modes, mode)
	}
	win.editor.mu.Lock()
	win.next++
	a.id = fmt.Sprint(win.next)
	win.editor.mu.Unlock()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, a.id, method, strings.TrimSuffix(params, ","))
	w.note(fmt.Sprint("window ", win.n), "asks", []byte(line))
	w.mu.Unlock()
	win.send(line)
	return a
}
