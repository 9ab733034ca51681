package adapter

import (
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// process is the droid that works for a session, while there is one: whether it
// runs, is being started or leaves, who waits for it, what its events mean, when it
// is to be parked and how the last one died. It can kill droid; starting droid and
// ending it politely is up to the session, in process_start.go and process_end.go.
// Only the session's owner touches it.
type process struct {
	droid   *droid.Client       // nil while none runs
	norm    *quirks.Normalizer  // of that droid, or of the last one
	paused  bool                // its events are not read at present, see nextEvent
	doomed  bool                // nothing can be asked of it any more; its end is awaited
	starts  bool                // it is being started
	info    *stream.SessionInfo // what the one that was started last said when it loaded the session
	failure *acp.RequestError   // why it was not started
	leaving *droid.Client       // the droid before, which was let go and is not gone yet
	parkAt  time.Time           // zero when it is not to be parked
	crash   error               // why the last droid died
	asked   int                 // how many questions about itself droid is to answer
}

// waiter is called when the session has a process. info is what droid said when it
// loaded the session, nil when the process was there before; err is why there is
// none.
type waiter func(info *stream.SessionInfo, err *acp.RequestError)

// client is the droid that runs, nil for none.
func (p *process) client() *droid.Client { return p.droid }

// events are what that droid says, nil while none runs.
func (p *process) events() <-chan stream.Event {
	if p.droid == nil {
		return nil
	}
	return p.droid.Events()
}

// has reports whether the droid that runs does what the fact says; false while none
// runs.
func (p *process) has(f stream.Fact) bool { return p.droid != nil && p.droid.Version().Has(f) }

// start notes that a process is being started. It reports false when one is already.
func (p *process) start() bool {
	begins := !p.starts
	p.starts = true
	return begins
}

// starting reports whether a process is being started.
func (p *process) starting() bool { return p.starts }

// begun notes that the start has ended: what droid said when it loaded the session, or why
// there is none.
func (p *process) begun(info *stream.SessionInfo, failure *acp.RequestError) {
	p.starts, p.info, p.failure = false, info, failure
}

// outcome is what the last start came to.
func (p *process) outcome() (*stream.SessionInfo, *acp.RequestError) { return p.info, p.failure }

// adopt makes client the session's process. shown are the ids of the tool calls
// that the editor has seen; new calls do not get them.
func (p *process) adopt(client *droid.Client, shown []string) {
	p.droid = client
	p.norm = quirks.New(client.Version())
	p.norm.Reserve(shown...)
}

// lacking tells that the droid that runs does not do what the fact says, "" when it
// does or when none runs.
func (p *process) lacking(f stream.Fact) string {
	if p.droid == nil || p.has(f) {
		return ""
	}
	return " " + p.droid.Version().Lacks(f)
}

// died notes that the process ended by itself, and why.
func (p *process) died(err error) {
	p.crash = err
	p.gone()
}

// lastCrash is why the last droid that died did so, nil when none has.
func (p *process) lastCrash() error { return p.crash }

// gone notes that the process has ended, or was let go.
func (p *process) gone() { p.droid, p.doomed = nil, false }

// letGo hands the process to the caller, who ends it and then calls left.
func (p *process) letGo() *droid.Client {
	p.leaving = p.droid
	p.gone()
	return p.leaving
}

// left notes that a process which was let go is gone.
func (p *process) left(client *droid.Client) {
	if p.leaving == client {
		p.leaving = nil
	}
}

// stillLeaving is the process that was let go and is not gone yet, nil for none.
func (p *process) stillLeaving() *droid.Client { return p.leaving }

// kill kills the process, if there is one, and notes why.
func (p *process) kill(reason string) {
	if p.droid != nil {
		p.droid.KillFor(reason)
	}
}

// expectEnd notes that nothing can be asked of the process any more, if there is one.
func (p *process) expectEnd() { p.doomed = p.droid != nil }

// dying reports whether the end of the process is awaited.
func (p *process) dying() bool { return p.doomed }

// pause says whether the events of the process are left unread for now.
func (p *process) pause(paused bool) { p.paused = paused }

// isPaused reports whether the events of the process are left unread.
func (p *process) isPaused() bool { return p.paused }

// rest notes that the session became idle: it is to be parked at this time.
func (p *process) rest(parkAt time.Time) { p.parkAt = parkAt }

// stay notes that the session works again, so that it is not parked.
func (p *process) stay() { p.parkAt = time.Time{} }

// parkDue reports whether the time to park the session has come. It says so once.
func (p *process) parkDue(now time.Time) bool {
	if p.parkAt.IsZero() || now.Before(p.parkAt) {
		return false
	}
	p.parkAt = time.Time{}
	return true
}

// due is when tick or parkDue is wanted next, if at all.
func (p *process) due() (at time.Time, ok bool) {
	if p.droid != nil && p.norm != nil && !p.paused {
		at, ok = p.norm.Deadline()
	}
	if !p.parkAt.IsZero() && (!ok || p.parkAt.Before(at)) {
		at, ok = p.parkAt, true
	}
	return at, ok
}

// opened takes the settings that droid told when it opened or loaded the session.
func (p *process) opened(settings stream.Settings) []quirks.Event {
	p.norm.SetVersion(p.droid.Version())
	return p.norm.Settings(settings)
}

// tick returns the events that the normaliser held back until now. It returns none
// while the events of the process are not read, since unread ones come first.
func (p *process) tick(now time.Time) []quirks.Event {
	if p.droid == nil || p.norm == nil || p.paused {
		return nil
	}
	return p.norm.Tick(now)
}
