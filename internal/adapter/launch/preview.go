package launch

import (
	"context"
	"sync/atomic"
	"time"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// Preview has the settings and the models that droid reports for a new session.
type Preview struct {
	Settings  stream.Settings
	Models    []stream.Model
	LoggedOut bool
}

func (p Preview) with(loggedOut bool) Preview {
	p.LoggedOut = loggedOut
	return p
}

// previewTime is how long a preview counts while no file changes: the models that droid offers come from Factory, too.
const previewTime = 5 * time.Minute

// previews has the preview that was made last. An editor works in one project mostly.
type previews struct {
	turn      chan struct{} // has a token while somebody makes or reads one
	forgotten atomic.Int64  // how often ForgetPreview was called
	last      struct {
		forgotten int64
		Preview
		command droid.Command
		state   droid.DirState
		until   time.Time
	}
}

// Preview returns what droid would report of a new session in cwd, without what an untrusted project brings. droid reports its settings
// only for a session, so a process opens one; no MCP server and no hook runs for it, and what it stores is removed.
func (l *Launcher) Preview(ctx context.Context, cwd string) (p Preview, err error) {
	select {
	case l.previews.turn <- struct{}{}:
		defer func() { <-l.previews.turn }()
	case <-ctx.Done():
		return p, acperr.Cancelled()
	}
	command, err := l.commandIn(ctx, cwd)
	if err != nil {
		return p, err
	}
	state, err := files.CallBounded(ctx, l.calls, "DirState", cwd, sure(droid.ReadDirState))
	if err != nil {
		return p, err
	}
	loggedOut, err := files.CallBounded(ctx, l.calls, "LacksLogin", "", sure(func(string) bool { return command.LacksLogin() }))
	if err != nil {
		return p, err
	}
	last, forgotten := &l.previews.last, l.previews.forgotten.Load()
	same := last.forgotten == forgotten && last.command.Dir == cwd && projectconfig.Same(last.command.Excluded, command.Excluded) && projectconfig.Same(last.command.Project, command.Project)
	if same && last.state.Same(state) && time.Now().Before(last.until) {
		return last.with(loggedOut), nil
	}
	if p, err = l.preview(ctx, command); err != nil {
		return p, err
	}
	last.forgotten, last.Preview, last.command, last.state, last.until = forgotten, p, command, state, time.Now().Add(previewTime)
	return p.with(loggedOut), nil
}

// ForgetPreview is called when a droid that starts would offer other models.
func (l *Launcher) ForgetPreview() { l.previews.forgotten.Add(1) }

// preview has a process open a session, and ends it.
func (l *Launcher) preview(ctx context.Context, command droid.Command) (p Preview, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Time, ErrTime)
	defer cancel()
	command.Alone, command.Scratch = true, true
	client, err := l.cfg.Start(command)
	if err != nil {
		return p, refusal(command.Excluded, err, acperr.NotStarted(err))
	}
	info, err := l.openIn(ctx, client, nil, Open{New: &droid.InitializeParams{CWD: command.Dir, Settings: l.cfg.Defaults.Settings()}})
	if err != nil {
		return p, err
	}
	p = Preview{Settings: info.Settings, Models: info.AvailableModels}
	client.Kill()
	<-client.Exited()
	return p, nil
}

// StoredSettings returns the settings that droid has stored with a session.
func (l *Launcher) StoredSettings(ctx context.Context, id string) (stream.Settings, error) {
	return ofSession(ctx, l, "Store.Settings", id, l.cfg.Store.Settings)
}
