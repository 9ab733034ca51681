// Package via passes ACP's messages between an editor here and an agent at the far side of a command (ssh, docker exec, wsl.exe), where the
// same files have other paths. Its main type is Relay, which the command via of cmd/droid-acp runs. It rewrites paths and file URIs where
// ACP's types have them, and leaves all other bytes as they are.
//
// It knows lines, requests and responses, and nothing of sessions or of a particular agent; Options.Agent describes that.
package via

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/rawjson"
)

// Options configure a relay.
type Options struct {
	Command      []string  // starts the agent at the far side: the program and its arguments
	Maps         Maps      // how paths correspond
	In           io.Reader // messages of the editor; the caller closes it
	Out          io.Writer // messages to the editor
	Stderr       io.Writer // receives the far side's output outside of the protocol, and must not block
	Agent        relay.Agent
	Copy         string // the agent's program, to be copied to where Command starts it; "" for none
	FarTerminals bool   // the far side may run commands in terminals of the editor, and make it log in by them
	Keeps        bool   // the far side keeps sessions when the link is cut, so that it is worth connecting again
	Interactive  bool   // a person runs it in a terminal, and sends no requests
	Version      string // of this program
	Log          *zap.Logger

	// AdaptError adapts an error to what the client displays; method is the method of the failed request. It may be nil.
	AdaptError func(client protocol.ClientCapabilities, method string, e *jsonrpc.Error) *jsonrpc.Error
}

const (
	// endTime is how long the agent may take to end after the editor has gone. An agent of this program takes up to 20 s.
	endTime = 25 * time.Second
)

// Relay passes messages on. Make it with New and call Run once.
type Relay struct {
	Options
	near             *relay.EditorConn
	far              *jsonrpc.Outbox              // to the agent
	noise            subprocess.Tail              // the far side's stdout lines that are not messages
	own              map[string]*paths.PathFields // path fields of the agent's own methods
	texts            *paths.PathFields            // path fields of the text of an update
	plain            shapes                       // of updates that have a text and no path to rewrite
	resolveCalls     *files.CallLimiter           // resolving local paths
	sessionDirFields *paths.PathFields            // path fields of the directories of a session that the editor opens
	sessionDirs      atomic.Pointer[Maps]         // these directories, if there are no maps
	heartbeat        *relay.Heartbeat             // of the link to the far side; nil until the command runs, and if Keeps
	link             atomic.Pointer[link]         // if Keeps, the current link
	ending           atomic.Bool                  // if Keeps, the end of the link is wanted
	killRequested    chan struct{}                // closed by Kill
	max              int                          // relay.MaxLine, except in tests

	client atomic.Pointer[protocol.ClientCapabilities] // the editor, from its initialize

	agentEndTime     time.Duration // endTime, except in tests
	heartbeatTimeout time.Duration // relay.HeartbeatTimeout, except in tests
}

// shapes are the shapes of recent lines, the newest first. There is one for each of a few alternating texts, such as those of several
// sessions or subagents.
type shapes [8]rawjson.LineTemplate

// fit reports whether a line has one of the shapes, and moves that to the front.
func (s *shapes) fit(line []byte) bool {
	for i := range s {
		if _, ok := s[i].Cut(line); ok {
			first := s[i]
			copy(s[1:], s[:i])
			s[0] = first
			return true
		}
	}
	return false
}

func (s *shapes) add(shape rawjson.LineTemplate) {
	copy(s[1:], s[:])
	s[0] = shape
}

// New makes a relay.
func New(o Options) *Relay {
	out := o.Out
	if f, ok := out.(*os.File); ok {
		out = subprocess.NewWriter(f)
	}
	r := &Relay{
		Options: o, near: relay.New(out), own: map[string]*paths.PathFields{}, texts: paths.ParsePathFields("update.content.text"),
		sessionDirFields: paths.ParsePathFields("cwd additionalDirectories[]"), resolveCalls: files.NewCallLimiter(maxLateResolves, resolveTimeout), killRequested: make(chan struct{}), max: relay.MaxLine,
		far: jsonrpc.NewOutbox(nil, relay.Batch), agentEndTime: endTime, heartbeatTimeout: relay.HeartbeatTimeout,
	}
	for method, of := range o.Agent.PathFields {
		r.own[method] = paths.ParsePathFields(of)
	}
	r.client.Store(new(o.Agent.ParseClient(nil, nil)))
	r.near.Interactive = o.Interactive
	if o.AdaptError != nil {
		r.near.AdaptError = func(method string, e *jsonrpc.Error) *jsonrpc.Error { return o.AdaptError(*r.client.Load(), method, e) }
	}
	return r
}

// Kill ends the command at once. It may be called once.
func (r *Relay) Kill() { close(r.killRequested) }

// Run starts the command and passes messages on until the editor has gone, Out is no longer read, or ctx is done, and the command has
// ended; it returns nil then. If the command ends by itself, or has answered nothing when the editor goes, each pending request, or else
// the next one, gets the reason as its answer; Run returns that reason, a *Failure.
func (r *Relay) Run(ctx context.Context) error {
	go r.near.Out.Run()
	fromNear := newDirection(r.In)
	r.pump(fromNear, r.far, r.fromNear)
	nearEnded := fromNear.ended
	if f := r.copyProgram(ctx, nearEnded); f != nil {
		return r.endUnreached(ctx, f, nearEnded)
	}
	if r.Keeps {
		return r.runLinks(ctx, fromNear)
	}
	p, err := r.start()
	if err != nil {
		return r.endUnreached(ctx, notStarted(r.Command, err), nearEnded)
	}
	defer p.Stdout.Close()
	r.far.SetWriter(subprocess.NewWriter(p.Stdin))
	go r.far.Run()
	fromFar, dead := newDirection(p.Stdout), make(chan struct{})
	r.heartbeat = relay.NewHeartbeat(fromFar.ahead, func(line []byte) { put(r.far, line) }, func() { close(dead) })
	r.heartbeat.Timeout = r.heartbeatTimeout
	defer r.heartbeat.Stop()
	r.pump(fromFar, r.near.Out, r.fromFar)
	return r.await(ctx, func() *subprocess.Process { return p }, fromNear, fromFar, dead)
}

// start starts the command.
func (r *Relay) start() (*subprocess.Process, error) {
	return subprocess.Start(subprocess.Command{Path: r.Command[0], Args: r.Command[1:], Env: environment(), Stderr: r.Stderr})
}

// runLinks is the rest of Run for a far side that keeps sessions.
func (r *Relay) runLinks(ctx context.Context, fromNear *direction) error {
	far, end, err := r.pumpLinks(ctx)
	if err != nil {
		return r.endUnreached(ctx, notStarted(r.Command, err), fromNear.ended)
	}
	defer end()
	go r.far.Run()
	fromFar := newDirection(far)
	r.pump(fromFar, r.near.Out, r.fromFar)
	return r.await(ctx, func() *subprocess.Process { return r.link.Load().process }, fromNear, fromFar, nil)
}

// await returns when the relay has ended, how Run returns it. process returns the command that runs last.
func (r *Relay) await(ctx context.Context, process func() *subprocess.Process, fromNear, fromFar *direction, dead <-chan struct{}) error {
	nearEnded, farEnded := fromNear.ended, fromFar.ended
	select {
	case <-dead:
		p := process()
		_ = p.Kill() // it may have ended
		r.exited(p)
		subprocess.WaitTimeout(farEnded, relay.DrainTime)
		return r.fail(ctx, silentFailure(r.heartbeatTimeout), nearEnded)
	case <-farEnded:
		exit := r.exited(process())
		if l := r.link.Load(); l != nil && l.silent.Load() {
			return r.fail(ctx, silentFailure(r.heartbeatTimeout), nearEnded)
		}
		if fromFar.tooLong {
			return r.fail(ctx, tooLong("the far side"), nearEnded)
		}
		return r.fail(ctx, r.explain(exit), nearEnded)
	case <-nearEnded:
		exit := r.end(process(), farEnded)
		if fromNear.tooLong {
			return r.fail(ctx, tooLong("the editor"), nearEnded)
		}
		if r.near.NoneAnswered() || exit.Code > 0 && !r.near.AnyAnswered() {
			return r.fail(ctx, r.explain(exit), nearEnded)
		}
	case <-ctx.Done():
		r.end(process(), farEnded)
	case <-r.near.Out.Failed():
		r.end(process(), farEnded)
	case <-r.killRequested:
		r.end(process(), farEnded)
	}
	r.near.Flush()
	return nil
}

// environment returns the command's environment: ours, with UTF-8 output of wsl.exe.
func environment() []string { return subprocess.WithDefaultEnv(nil, "WSL_UTF8", "1") }

// errGone means that a copy was given up because the editor has gone.
var errGone = errors.New("the editor closed its end before the copy was there")

// copyProgram copies the program if Options ask for it. If the editor goes during the copy, that may take as long as an agent may take to
// end.
func (r *Relay) copyProgram(ctx context.Context, nearEnded <-chan struct{}) *Failure {
	if r.Copy == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, copyTime, errCopyTime)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go func() {
		select {
		case <-nearEnded:
		case <-r.killRequested:
		case <-ctx.Done():
		}
		select {
		case <-time.After(r.agentEndTime):
			giveUp(errGone)
		case <-r.killRequested:
			giveUp(nil)
		case <-ctx.Done():
		}
	}()
	i := programIndex(r.Agent.Name, r.Command)
	return (&programCopy{r.Agent, r.Command[:i], r.Command[i], r.Copy, r.Log}).copy(ctx)
}

// endUnreached ends a relay whose command does not run.
func (r *Relay) endUnreached(ctx context.Context, f *Failure, nearEnded <-chan struct{}) error {
	r.far.Abort()
	return r.fail(ctx, f, nearEnded)
}

// end ends the command after the editor has gone: gracefully, then by force.
func (r *Relay) end(p *subprocess.Process, farEnded <-chan struct{}) subprocess.Exit {
	r.ending.Store(true)
	r.far.Close()
	subprocess.WaitTimeout(r.far.Done(), relay.DrainTime)
	_ = p.Stdin.Close() // the agent ends at the end of its input
	select {
	case <-p.Exited():
	case <-time.After(endTime):
		r.Log.Warn("killing the command: the far side does not end")
		_ = p.Terminate() // it may have ended
		subprocess.WaitTimeout(p.Exited(), relay.DrainTime)
	case <-r.killRequested:
	}
	_ = p.Kill()
	<-p.AllExited()
	if !subprocess.WaitTimeout(farEnded, relay.DrainTime) {
		_ = p.Stdout.Close() // another process holds it open; this ends the reading
	}
	return p.Exit(relay.DrainTime)
}

// exited returns how a command ended that has closed its stdout.
func (r *Relay) exited(p *subprocess.Process) subprocess.Exit {
	subprocess.WaitTimeout(p.Exited(), relay.DrainTime)
	_ = p.Kill() // it may have ended
	r.far.Abort()
	_ = p.Stdin.Close() // nothing reads it
	<-p.AllExited()
	return p.Exit(relay.DrainTime)
}

// fail answers the pending requests, or else the next one.
func (r *Relay) fail(ctx context.Context, f *Failure, nearEnded <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.killRequested:
			cancel()
		case <-ctx.Done():
		}
	}()
	r.near.Fail(ctx, f.rpc(), nearEnded)
	r.near.Flush()
	return f
}

// fromNear handles a line of the editor and returns what to send to the far side, nil for nothing.
func (r *Relay) fromNear(line []byte) []byte {
	if !json.Valid(line) {
		return line // the agent reports what is wrong with it
	}
	m, ok := jsonrpc.ReadHead(line)
	if !ok {
		r.near.Refuse(nil, "", noMessage())
		return nil
	}
	to := line
	if m.Method != "" && m.Params > 0 {
		var outside *outsidePath
		if to, outside = r.Maps.rewrite(far, line, m.Params, r.pathFields(m.Method)); outside != nil {
			if e := outside.nearError(r.Maps); m.IsRequest() {
				r.near.Refuse(m.ID, m.Method, e)
			} else {
				r.logDropped(m)
			}
			return nil
		}
	}
	if m.Method == "initialize" && m.Params > 0 {
		r.setClient(to[m.Params:])
		if !r.FarTerminals {
			to = withoutTerminals(to, m.Params)
		}
	}
	if !r.near.Track(m) {
		return nil
	}
	r.noteDirectories(m, line)
	return to
}

// setClient records the editor's capabilities, from its initialize.
func (r *Relay) setClient(params []byte) {
	var p struct{ ClientInfo, ClientCapabilities json.RawMessage }
	_ = json.NewDecoder(bytes.NewReader(params)).Decode(&p) // fields of another type stay empty
	r.client.Store(new(r.Agent.ParseClient(p.ClientCapabilities, p.ClientInfo)))
}

// pathFields returns the path fields of a method's params or result.
func (r *Relay) pathFields(method string) *paths.PathFields {
	if own := r.own[method]; own != nil {
		return own
	}
	return protocol.PathFields(method)
}

// logDropped logs that a notification is not passed on.
func (r *Relay) logDropped(m jsonrpc.Head) {
	r.Log.Warn("dropped a notification: it names a path that no map covers, or asks for something that the other side may not have", zap.String("method", m.Method))
}

// fromFar handles a line of the far side and returns what to send to the editor, nil for nothing.
func (r *Relay) fromFar(line []byte) []byte {
	if r.plain.fit(line) {
		return line
	}
	if !json.Valid(line) {
		r.addNoise(line)
		return nil
	}
	m, ok := jsonrpc.ReadHead(line)
	switch {
	case !ok:
		r.addNoise(line)
		return nil
	case m.Method == "":
		return r.answer(line, m)
	case m.Method == relay.HeartbeatMethod:
		r.heartbeat.Received()
		return nil
	}
	to := line
	var outside *outsidePath
	if m.Params > 0 {
		to, outside = r.Maps.rewrite(near, line, m.Params, r.pathFields(m.Method))
	}
	if refused := r.refusal(m, to, outside); refused != nil {
		if m.IsRequest() {
			put(r.far, jsonrpc.EncodeError(m.ID, refused))
		} else {
			r.logDropped(m)
		}
		return nil
	}
	if m.Method == telling && &to[0] == &line[0] {
		r.texts.Rewrite(line, m.Params, func(_, _ string, text []byte) []byte {
			if rawjson.IsString(text) {
				r.plain.add(rawjson.NewLineTemplate(line, text, nil))
			}
			return nil
		})
	}
	return to
}

// answer returns the far side's answer as it is sent to the editor, which may differ.
func (r *Relay) answer(line []byte, m jsonrpc.Head) []byte {
	method := r.near.Resolve(m.ID)
	if m.Result == 0 || method == "" {
		return line
	}
	to, _ := r.Maps.rewrite(near, line, m.Result, r.pathFields(method+".result"))
	if method != "initialize" {
		return to
	}
	agent := readAgent(to[m.Result:])
	known := agent.Info.Name == r.Agent.Name && r.Agent.Name != ""
	if l := r.link.Load(); known && l != nil {
		l.heartbeat.Start()
	} else if known && r.heartbeat != nil {
		r.heartbeat.Start()
	}
	to = r.rewriteLogins(to, m.Result, known)
	if len(r.Maps) > 0 && agent.ProtocolVersion != 1 {
		r.near.Refuse(bytes.Clone(m.ID), method, otherProtocol(agent.ProtocolVersion).rpc())
		return nil
	}
	if known && agent.Info.Version != r.Version {
		r.Log.Warn("the far side runs another version of "+r.Agent.Name+"; --copy puts this one there",
			zap.String("there", agent.Info.Version), zap.String("here", r.Version))
	}
	return to
}

// addNoise records a line of the far side's stdout that is not a message: a shell's login output, or why there is no agent.
func (r *Relay) addNoise(line []byte) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	text := append(bytes.Clone(line[:min(len(line), subprocess.TailLine)]), '\n')
	_, _ = r.noise.Write(text)  // never fails
	_, _ = r.Stderr.Write(text) // an error could not be reported anywhere else
}
