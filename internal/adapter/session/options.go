package session

import (
	"cmp"
	"context"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// scopeOf says what a change of an option to this value is about. The mode decides what a turn may do from now on. It stays so while
// the change waits: by itself droid changes only to a mode that asks less, as where it leaves spec mode; an answer to a permission
// may have it do so, and comes before the change (awaitMode) or is refused (permissionRequest.decide).
func scopeOf(s *Session, id, value string) turns.Scope {
	if id == options.Mode && s.options.LosesNothing(stream.Mode(value)) && s.prompts.Changing(turns.Stricter) == 0 {
		return turns.Stricter
	}
	return cmp.Or(options.Find(id).Scope, turns.General) // an unknown one is refused in its turn
}

// stopsPrompts returns why the prompts that were sent behind a change of an option are not to go to droid: the change failed, and the mode that
// stays asks less than the one that was wanted, or another model would get them. It is nil when they may go.
func stopsPrompts(o *options.State, id, value string, why *jsonrpc.Error) error {
	switch {
	case why == nil:
		return nil
	case id == options.Mode && !o.Mode().AsksAsMuchAs(stream.Mode(value)):
		return acperr.ModeNotSet(stream.Mode(value).Title(), o.Mode().Title(), why)
	case id == options.Model || id == options.SpecModel:
		return acperr.ModelNotSet(o.Titled(id, value))
	}
	return nil
}

// NotSetError says why an option was not set.
type NotSetError struct {
	Text    string // for the user
	prompts error  // ends the prompts that were sent until the change failed, as they were meant for the other value; nil if they may go
}

func (e *NotSetError) Error() string { return e.Text }

// SetOption changes one option and returns when droid has it. Prompts that were sent behind a mode must not run in another one, whatever
// becomes of droid, so a cancel does not end the change.
func (s *Session) SetOption(ctx context.Context, id, value string) *NotSetError {
	s.uncancellable(ctx)
	err := s.setOption(s.Context, id, value)
	if err == nil {
		return nil
	}
	return &NotSetError{sentence(Plain(err)), stopsPrompts(&s.options, id, value, err)}
}

// Option returns an option with its values, nil for one that this droid or client does not have. known is false while no droid runs.
func (s *Session) Option(id string) (option *protocol.ConfigOption, known bool) {
	return s.options.Option(id), s.proc.Client() != nil
}

// OptionTitle says in words that an option has a value.
func (s *Session) OptionTitle(id, value string) string { return s.options.Titled(id, value) }

// DescribeOption lists the values of an option, for the command of this name.
func (s *Session) DescribeOption(ctx context.Context, id, command string) (string, error) {
	if s.proc.NeedsCreate() { // a droid that was never started has reported no options
		if _, err := s.readyDroid(ctx); err != nil {
			return "", err
		}
	}
	return s.options.Describe(id, command), nil
}

// setOption changes one option, for the methods and the commands alike, and returns when droid has it, or with why not. callCtx bounds the
// call that makes the change, and the wait for the mode of an answer before it; the other waits end with the session. It is s.Context, so
// that a cancel ends none of them, except for the first options of a session that a request creates.
func (s *Session) setOption(callCtx context.Context, id, value string) *jsonrpc.Error {
	switch {
	case id == options.FollowUp:
		if s.setFollowUp(callCtx, value) {
			return nil
		}
		return acperr.InvalidParams("%v", options.UnknownValue(id, value, s.options.Option(id).Options))
	case id == options.AutoCompaction && s.options.Option(id) == nil:
		return acperr.InvalidParams("unknown configId %q, or an option that this droid or this client does not have", id)
	case id == options.AutoCompaction:
		return s.setAutoCompaction(callCtx, value == "true")
	}
	release, failure := s.lockRPC(s.Context)
	if failure != nil {
		return failure
	}
	defer release()
	if id == options.Mode {
		s.awaitMode(callCtx)
		s.modeOrder.ask(stream.Mode(value))
		defer s.modeOrder.ask("")
	}
	var patch stream.SettingsPatch
	var refused error
	err := s.withDroid(s.Context, 1, func(client *droid.Client, _ *stream.SessionInfo) error {
		if patch, refused = s.options.Patch(client.Version(), id, value); id == options.Mode && refused == nil {
			s.modeOrder.choose()
		}
		return s.changeSettings(callCtx, client, patch)
	})
	heard := s.syncEvents(s.Context) // settings_updated comes before the reply: applyEvent has put it in s.options
	switch why := cmp.Or(whyNoDroid(err), heard); {
	case why != nil:
		return why
	case refused != nil:
		return acperr.InvalidParams("%v", refused)
	case patch.IsZero(), err == nil && s.modeOrder.made: // it has the value, or had it until a later answer
		s.options.Chosen(id)
		return nil
	}
	return settled(&s.options, id, value, err)
}

// settled returns an error unless droid made the requested change: err is its answer to the request, and o has the settings that it
// reported since.
func settled(o *options.State, id, value string, err error) *jsonrpc.Error {
	name := options.Find(id).Called
	kind := strings.ReplaceAll(name, " ", "_")
	if err != nil {
		return acperr.NotSet(kind, name, settingsTime, err)
	}
	if ignored := o.Ignored(id, value); ignored != "" {
		return acperr.Internal(kind+"_ignored", ignored)
	}
	o.Chosen(id)
	return nil
}

// changeSettings has a droid change settings. It is not asked where there is nothing to change.
func (s *Session) changeSettings(ctx context.Context, client *droid.Client, patch stream.SettingsPatch) error {
	if patch.IsZero() {
		return nil
	}
	return s.unlockedFor(ctx, settingsTime, func(ctx context.Context) error { return client.UpdateSettings(ctx, patch) })
}

// settingsTime bounds how long droid may take to change its settings (2 to 20 ms
// were seen).
const settingsTime = 10 * time.Second

// setAutoCompaction switches automatic compaction and returns when droid has done so, or with why not. droid keeps it
// with the session (0.215 and 0.225). callCtx is that of setOption.
func (s *Session) setAutoCompaction(callCtx context.Context, on bool) *jsonrpc.Error {
	release, failure := s.lockRPC(s.Context)
	if failure != nil {
		return failure
	}
	defer release()
	err := s.withDroid(s.Context, 1, func(client *droid.Client, _ *stream.SessionInfo) error {
		return s.changeSettings(callCtx, client, stream.SettingsPatch{AutoCompaction: &on})
	})
	heard := s.syncEvents(s.Context) // settings_updated comes before the reply
	got := s.options.Settings().AutoCompaction
	switch why := cmp.Or(whyNoDroid(err), heard); {
	case why != nil:
		return why
	case err != nil:
		return acperr.NotSet("auto_compaction", "automatic compaction", settingsTime, err)
	case got == nil || *got != on:
		return acperr.Internal("auto_compaction_ignored", "droid accepted the request but did not change automatic compaction."+s.proc.UnsupportedText(stream.SwitchesAutoCompaction))
	}
	return nil
}

// ChangeOption sets an option when the turn of its request has come, and sends the response, which has all options. It waits for droid, and
// succeeds if droid reports the value. Until the turn comes, the end of c's context takes the request back. A panic leaves the change to
// loseChanges: a deferred FinishChange would let go what was meant for the value. See Enter for ordered.
func (s *Session) ChangeOption(c *wire.Call, ordered func(), id, value string) (result any, err *jsonrpc.Error) {
	if err = s.Enter(ordered); err != nil {
		return nil, err
	}
	defer s.Exit(&err)
	change, err := s.beginChange(c.Context, scopeOf(s, id, value))
	if err != nil {
		return nil, err
	}
	err = s.setOption(s.Context, id, value)
	why := stopsPrompts(&s.options, id, value, err)
	result = struct{}{}                                                  // an update has the rest
	if c.Method == acp.AgentMethodSessionSetConfigOption && err == nil { // the response does
		list := s.options.ListUpdate()
		s.out.MarkSent(list)
		result = protocol.ConfigResult{ConfigOptions: list.ConfigOptions}
	}
	if why != nil {
		s.refused = refusedLines{s.deps.Conn.Lines(), why}
	}
	s.deps.Respond(c, result, err)
	s.prompts.FinishChange(change, why)
	return result, err
}

// loseChanges ends all changes, and with why the prompts that the editor sent behind them.
func (s *Session) loseChanges(why error) {
	if s.prompts.Changing(turns.General) > 0 {
		s.refused = refusedLines{s.deps.Conn.Lines(), why}
	}
	s.prompts.LoseChanges(why)
}

// ListOptions returns the options as they are now. See Enter for ordered.
func (s *Session) ListOptions(ordered func()) (_ any, err *jsonrpc.Error) {
	if err = s.Enter(ordered); err != nil {
		return nil, err
	}
	defer s.Exit(&err)
	return s.deps.OptionsResult(&s.options), nil
}

// NewOptionState returns the state of the options before droid has said anything.
func (d *Deps) NewOptionState() options.State {
	return options.New(d.Config.Defaults.FollowUp, d.Client.BooleanOptions, d.Client.NarrowOptions)
}

// OptionsResult returns the options as the editor gets them.
func (d *Deps) OptionsResult(o *options.State) protocol.OptionsResult {
	return protocol.OptionsResult{Modes: d.Client.Modes(o.Modes()), ConfigOptions: o.ListUpdate().ConfigOptions}
}
