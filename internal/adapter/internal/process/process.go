// Package process keeps which droid works for a session: whether one runs, is being started,
// ends or retires, what its events mean, how long it has said nothing, and when it may be parked.
// The session starts droid and loads itself into it.
package process

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/adapter/internal/background"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

// Process is the droid that works for a session, if there is one. Except for ForceStop, the caller of each
// method must hold the session's lock. It is in one of five states:
//
//	none      no droid runs                        Client is nil
//	starting  one is being started                 Starting
//	runs      it accepts requests                  Client
//	ending    it was killed, or is about to end    Client, Ending
//	died      it has ended                         Client is nil, LastCrash has the reason
//
// In addition, a droid that was replaced (see Replace) may still be exiting: Exiting.
type Process struct {
	droid       *droid.Client       // nil while none runs
	normalizer  *quirks.Normalizer  // of that droid, or of the last one
	paused      bool                // its events are not read at present
	ending      bool                // nothing can be asked of it any more; its end is awaited
	starts      bool                // it is being started
	limit       int                 // of the messages for which it is asked then
	info        *stream.SessionInfo // what the one that was started last said when it loaded the session
	failure     *jsonrpc.Error      // why it was not started
	crash       error               // why the last droid died
	fault       bool                // its end is its own fault, see Kill
	queries     int                 // how many questions about itself droid is to answer
	silence     silence
	needsCreate bool // no droid has made the session yet, because there was none

	// Commands are the commands that it has left in the background, and begun is how many it has said that it has.
	Commands background.Commands
	begun    int

	retiring  *droid.Client      // the previous droid, which was asked to end and still runs
	graceful  context.Context    // a droid that retires may take its time until this ends
	forceStop context.CancelFunc // ends graceful

	parkAt time.Time // zero when it is not to be parked

	Subagents Subagents // of the droid that runs
}

// New returns a Process that has no droid.
func New() (p Process) {
	p.graceful, p.forceStop = context.WithCancel(context.Background())
	return p
}

// Client returns the droid that runs, nil for none.
func (p *Process) Client() *droid.Client { return p.droid }

// Normalizer returns the normalizer of that droid's events, or of the last one's.
func (p *Process) Normalizer() *quirks.Normalizer { return p.normalizer }

// Events returns the droid's events, nil while none runs.
func (p *Process) Events() <-chan stream.Event {
	if p.droid == nil {
		return nil
	}
	return p.droid.Events()
}

// Supports reports whether a droid runs and supports the feature.
func (p *Process) Supports(f stream.Feature) bool {
	return p.droid != nil && p.droid.Version().Supports(f)
}

// UnsupportedText reports that the droid that runs does not do what the feature says, "" when it
// does or when none runs.
func (p *Process) UnsupportedText(f stream.Feature) string {
	if p.droid == nil || p.Supports(f) {
		return ""
	}
	return " " + p.droid.Version().UnsupportedText(f)
}

// Working reports whether droid works on a turn, including one that it began by itself.
func (p *Process) Working() bool {
	return p.droid != nil && p.normalizer != nil && p.normalizer.Working()
}

// SubagentsWork reports whether subagents of the droid that runs do, which end with it.
func (p *Process) SubagentsWork() bool {
	return p.droid != nil && p.normalizer != nil && p.normalizer.AnySubagentRunning()
}

// MarkNeedsCreate records that the session has an ID, but no droid has created it.
func (p *Process) MarkNeedsCreate() { p.needsCreate = true }

// NeedsCreate reports whether the first droid must create the session instead of loading it.
func (p *Process) NeedsCreate() bool { return p.needsCreate }

// BeginStart notes that a droid is being started, and asked for so many messages. It reports false when one is already.
func (p *Process) BeginStart(limit int) bool {
	if p.starts {
		return false
	}
	p.starts, p.limit = true, limit
	return true
}

// Starting reports whether a droid is being started.
func (p *Process) Starting() bool { return p.starts }

// StartEnded notes that the start has ended: what droid said when it loaded the session, or why
// there is none.
func (p *Process) StartEnded(info *stream.SessionInfo, failure *jsonrpc.Error) {
	p.starts, p.info, p.failure = false, info, failure
}

// Outcome returns the result of the last start. There is no info for a caller that wants more messages than droid was asked for.
func (p *Process) Outcome(limit int) (*stream.SessionInfo, *jsonrpc.Error) {
	if limit > p.limit {
		return nil, p.failure
	}
	return p.info, p.failure
}

// Adopt makes client the session's droid. shown are the ids of the tool calls
// that the editor has seen; new calls do not get them (quirk 10).
func (p *Process) Adopt(client *droid.Client, shown []string) {
	p.droid, p.fault, p.Commands, p.begun = client, true, background.Commands{}, 0
	p.normalizer = quirks.New(client.Version())
	p.normalizer.Reserve(shown...)
	p.Subagents = Subagents{}
}

// Opened takes the settings that droid reported when it opened or loaded the session.
func (p *Process) Opened(settings stream.Settings) []quirks.Event {
	p.needsCreate = false
	p.normalizer.SetVersion(p.droid.Version())
	return p.normalizer.Settings(settings)
}

// Handle takes one event of droid's.
func (p *Process) Handle(now time.Time, ev stream.Event) []quirks.Event {
	p.RestartSilence(now)
	if r, ok := ev.(stream.ToolResult); ok && bytes.HasPrefix(r.Content, []byte(`"Background process started`)) {
		p.begun++
	}
	return p.normalizer.Handle(now, ev)
}

// Background reports whether a command runs that droid has left in the background: it ends with droid (0.99 to 0.225). For one that is not
// watched, neither droid's report alone proves that it still runs, nor a process alone what it is.
func (p *Process) Background() bool {
	return p.droid != nil && (p.Commands.Runs(nil) || p.NotWatched())
}

// NotWatched reports whether one may run of which nothing is known.
func (p *Process) NotWatched() bool {
	return p.droid != nil && p.begun > p.Commands.Known() && p.droid.HasChildren()
}

// LoseBackground is Background for who ends droid and notifies the user: it is true once. left are those that are known.
func (p *Process) LoseBackground() (left []*background.Command, runs bool) {
	left, runs = p.Commands.Running(), p.Background()
	p.Commands, p.begun = background.Commands{}, 0
	return left, runs
}

// BeginQuery records that droid is asked for something about itself. EndQuery must follow.
func (p *Process) BeginQuery() { p.queries++ }

// EndQuery records that a query was answered or has failed.
func (p *Process) EndQuery() { p.queries-- }

// HasQueries reports whether a query is pending.
func (p *Process) HasQueries() bool { return p.queries > 0 }

// Pause says whether droid is left unread for now.
func (p *Process) Pause(paused bool) { p.paused = paused }

// Kill kills droid, if one runs, and notes why. That is not droid's fault, unless it was ending already.
func (p *Process) Kill(reason string) {
	if p.droid != nil {
		p.fault = p.fault && p.ending
		p.droid.KillFor(reason)
	}
}

// MarkEnding notes that nothing can be asked of droid any more, if one runs.
func (p *Process) MarkEnding() { p.ending = p.droid != nil }

// Ending reports whether the end of droid is awaited.
func (p *Process) Ending() bool { return p.ending }

// Exited notes that droid has ended, also by a kill, and why. It reports whether that is droid's fault.
func (p *Process) Exited(err error) (fault bool) {
	p.crash = err
	p.droid, p.ending = nil, false
	p.Subagents = Subagents{}
	return p.fault
}

// LastCrash returns why the last droid that died did so, nil if none has.
func (p *Process) LastCrash() error { return p.crash }

// Replace returns the droid that runs, which the caller closes. The Process has none then. OldExited follows.
func (p *Process) Replace() *droid.Client {
	p.retiring, p.droid, p.ending = p.droid, nil, false
	p.Subagents = Subagents{}
	return p.retiring
}

// OldExited notes that a droid which was retired is gone.
func (p *Process) OldExited(client *droid.Client) {
	if p.retiring == client {
		p.retiring = nil
	}
}

// Exiting returns the droid that was retired and still runs, nil for none.
func (p *Process) Exiting() *droid.Client { return p.retiring }

// Graceful ends when a droid that retires may no longer take its time.
func (p *Process) Graceful() context.Context { return p.graceful }

// ForceStop makes a retiring droid end at once. It may be called without the lock.
func (p *Process) ForceStop() { p.forceStop() }

// Close ends a droid whose events are no longer read: politely, and by a kill when ctx ends.
func Close(ctx context.Context, client *droid.Client) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for range client.Events() {
		}
	}()
	_ = client.Close(ctx) // how it ended is of no interest
	<-drained
}

// Due returns the time when Tick, NextSubagents or ParkDue is wanted next, if at all.
func (p *Process) Due() (at time.Time, ok bool) {
	if p.read() {
		at, ok = p.normalizer.Deadline()
		if next, some := p.Subagents.Due(); some && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	if !p.parkAt.IsZero() && (!ok || p.parkAt.Before(at)) {
		at, ok = p.parkAt, true
	}
	return at, ok
}

// Tick returns the events that the normalizer held back until now. It returns none
// while droid is not read, since unread ones come first.
func (p *Process) Tick(now time.Time) []quirks.Event {
	if !p.read() {
		return nil
	}
	return p.normalizer.Tick(now)
}

// NextSubagents returns those whose files are to be looked at now; none while droid is not read.
func (p *Process) NextSubagents(now time.Time) []string {
	if !p.read() {
		return nil
	}
	return p.Subagents.Next(now)
}

// read reports whether there is a droid that is read.
func (p *Process) read() bool { return p.droid != nil && p.normalizer != nil && !p.paused }

// ScheduleParking notes that the session became idle: it may be parked after a while, 0 for never.
func (p *Process) ScheduleParking(now time.Time, after time.Duration) {
	if after > 0 {
		p.parkAt = now.Add(after)
	}
}

// CancelParking notes that the session works again, so that it is not parked.
func (p *Process) CancelParking() { p.parkAt = time.Time{} }

// ParkDue reports whether the time to park the session has come. It says so once.
func (p *Process) ParkDue(now time.Time) bool {
	if p.parkAt.IsZero() || now.Before(p.parkAt) {
		return false
	}
	p.parkAt = time.Time{}
	return true
}

// silentAfter is how long the model may be silent before the user is notified what droid waits for, and again each time the silence has
// doubled. A model that thinks is silent for minutes (quirk 28), so silence ends no turn.
const silentAfter = time.Minute

// silence is how long droid has said nothing.
type silence struct {
	since   time.Time     // droid's last word
	shown   time.Duration // the length of silence in the last message to the user
	message string        // the ID of that message; later lengths are added to it
}

// next returns how long the silence must last before the next message to the user.
func (q *silence) next() time.Duration { return max(silentAfter, 2*q.shown) }

// RestartSilence restarts the measurement of droid's silence: droid has sent something, or was not read.
func (p *Process) RestartSilence(now time.Time) { p.silence = silence{since: now} }

// SilenceDue returns the time at which the user is notified that a working droid is silent; ok is false while none runs or is read.
func (p *Process) SilenceDue() (at time.Time, ok bool) {
	return p.silence.since.Add(p.silence.next()), p.droid != nil && !p.paused
}

// SilenceText returns the notification for now. It continues the thought of the last one. sending says that droid has not taken the prompt.
func (p *Process) SilenceText(sending bool) (message, text string, thought bool) {
	q := &p.silence
	q.shown = q.next()
	minutes := fmt.Sprintf("%d min", int(q.shown/time.Minute))
	if q.message != "" {
		return q.message, "; " + minutes, true
	}
	q.message = uuid.NewString()
	if sending {
		return q.message, "droid has not accepted your prompt, which you can cancel, for " + minutes, true
	}
	return q.message, "droid waits for the model, which has said nothing for " + minutes, true
}
