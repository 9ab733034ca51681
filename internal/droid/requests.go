package droid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"droid-acp/internal/droid/stream"
)

// ErrHasSession is returned by Initialize if the process already has a session: droid would give the new session the old one's conversation
// (0.99 to 0.225).
var ErrHasSession = errors.New("droid: process already has a session")

// InitializeParams are the parameters of a new session.
type InitializeParams struct {
	MachineID string // "" for an id of this process
	CWD       string // absolute; overrides the directory that droid was started in. Since 0.215 droid refuses one that does not exist
	SessionID string // "" to let droid choose one
	// Settings are the initial settings; nil fields come from the user's configuration of droid. Check the result: droid may silently start
	// with other ones.
	Settings   stream.SettingsPatch
	MCPServers []stream.MCPServer // ignored before 0.215
	// SystemPrompt is added to droid's system prompt, "" for nothing. droid stores it with the session, so that it applies whenever the
	// session is loaded, and copies it to sessions made from this one (0.215 to 0.225; ignored before, see stream.StoresSystemPrompt).
	SystemPrompt string
}

// LoadParams are the parameters for opening an existing session.
type LoadParams struct {
	SessionID    string
	MessageLimit int                // maximum number of messages to return; 0 for droid's default: 100 since 0.215, all before
	MCPServers   []stream.MCPServer // ignored before 0.215
}

// machineID is generated once: droid needs an ID, without a visible effect.
var machineID = sync.OnceValue(uuid.NewString)

// Initialize opens a new session. A process can do that once, and not after Load: ErrHasSession, since droid would mix the conversations
// (quirk 20). After a refusal it may be called again.
func (c *Client) Initialize(ctx context.Context, p InitializeParams) (*stream.SessionInfo, error) {
	if p.CWD == "" {
		return nil, errors.New("initialize_session: no working directory")
	}
	p.MachineID = cmp.Or(p.MachineID, machineID())
	type addition struct {
		Append string `json:"append"`
	}
	params := struct {
		MachineID string `json:"machineId"`
		CWD       string `json:"cwd"`
		SessionID string `json:"sessionId,omitempty"`
		stream.SettingsPatch
		MCPServers   []stream.MCPServer `json:"mcpServers,omitempty"`
		SystemPrompt *addition          `json:"systemPrompt,omitempty"`
	}{p.MachineID, p.CWD, p.SessionID, p.Settings, p.MCPServers, nil}
	if p.SystemPrompt != "" {
		params.SystemPrompt = &addition{p.SystemPrompt}
	}
	info, err := c.open(ctx, methodInitialize, params, p.SessionID)
	if k := c.checks.Load(); k != nil && err == nil {
		if what := k.tooPermissive(p.Settings, info.Settings); what != "" {
			c.KillFor(what)
			return nil, &ExcludeError{Why: what + ". droid was ended."}
		}
	}
	return info, err
}

// Load opens an existing session and returns its history. It works in a new process and in one with a session, which it leaves; not during
// a turn.
func (c *Client) Load(ctx context.Context, p LoadParams) (*stream.SessionInfo, error) {
	if p.SessionID == "" {
		return nil, errors.New("load_session: no session id")
	}
	params := struct {
		SessionID    string             `json:"sessionId"`
		MessageLimit int                `json:"messageLimit,omitempty"`
		MCPServers   []stream.MCPServer `json:"mcpServers,omitempty"`
	}{p.SessionID, p.MessageLimit, p.MCPServers}
	return c.open(ctx, methodLoad, params, p.SessionID)
}

// open calls a method that opens a session. id is the session's ID if the caller knows it. A call with an unknown outcome counts as done.
func (c *Client) open(ctx context.Context, method string, params any, id string) (*stream.SessionInfo, error) {
	if c.settings.hidesServers() {
		c.AwaitVersion(ctx) // until droid is running, the servers are not needed in its file
	}
	undo, err := c.beginOpen(method, id)
	if err != nil {
		return nil, err
	}
	if err := c.settings.opening(); err != nil {
		undo()
		return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(method, "droid."), err)
	}
	defer func() { c.settings.opened(c.Version()) }()
	info := new(stream.SessionInfo)
	if err := c.Call(ctx, method, params, info); err != nil {
		refused, is := errors.AsType[*stream.RPCError](err)
		if is && refused.Code != codeLost || errors.Is(err, errNotSent) {
			undo()
		}
		return nil, err
	}
	if info.SessionID == "" { // load_session does not repeat it
		info.SessionID = id
	}
	if err := checkID(method, info.SessionID); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.state.sessions[info.SessionID] = true
	c.state.session = info.SessionID
	c.mu.Unlock()
	return info, nil
}

// beginOpen records that a session is being opened; undo reverts that.
func (c *Client) beginOpen(method, id string) (undo func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	opened, answered, session := c.state.opened, c.state.answered, c.state.session
	if opened && method == methodInitialize {
		return nil, ErrHasSession
	}
	c.state.opened, c.state.answered = true, false
	if id != "" {
		c.state.sessions[id] = true
		c.state.session = id
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.opened, c.state.answered, c.state.session = opened, answered, session
	}, nil
}

// LastAccepted returns the request ID of the latest user message that droid accepted, "" if none. It is updated before AddUserMessage
// returns.
func (c *Client) LastAccepted() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.lastAccepted
}

// AddUserMessage sends a prompt. droid accepts it at once; the turn is reported by Events. During a turn droid queues the message or merges
// it into the turn.
func (c *Client) AddUserMessage(ctx context.Context, m stream.UserMessage) error {
	if m.RequestID == "" {
		m.RequestID = c.newID()
	}
	return c.callID(ctx, m.RequestID, methodAddUserMessage, newUserMessage(m), nil)
}

// WithdrawMessage asks droid to drop the message that was sent under a request ID, if stream.WithdrawsMessages holds. droid gives the same
// answer for a message that it has started or never had, and reports nothing more.
func (c *Client) WithdrawMessage(ctx context.Context, requestID string) error {
	return c.Call(ctx, methodResolveQueued, struct {
		RequestID string `json:"requestId"`
		Action    string `json:"action"`
	}{requestID, "delete"}, nil)
}

// Interrupt asks droid to end the running turn, whose end is reported by Events. It is sent once: droid before 0.215 loses one that follows
// a prompt within milliseconds, so callers repeat it until droid is idle.
func (c *Client) Interrupt(ctx context.Context) error {
	return c.Call(ctx, methodInterrupt, nil, nil)
}

// UpdateSettings changes settings of the session. droid silently ignores some invalid values: the actual settings are in SettingsUpdated,
// which 0.99 does not send if nothing changed.
func (c *Client) UpdateSettings(ctx context.Context, p stream.SettingsPatch) error {
	if p.NoSpecModeModel {
		return c.Call(ctx, methodUpdateSettings, struct {
			stream.SettingsPatch
			None *string `json:"specModeModelId"` // null
		}{SettingsPatch: p}, nil)
	}
	return c.Call(ctx, methodUpdateSettings, p, nil)
}

// AnswerPermission answers a PermissionRequest with one of its options, or with OptionCancel. It does not wait: droid confirms with
// PermissionResolved, and ignores late answers. An error means that droid has exited.
func (c *Client) AnswerPermission(requestID, option string) error {
	return c.answer(requestID, struct {
		SelectedOption string `json:"selectedOption"`
	}{option})
}

// ApproveEditedPlan answers a PermissionRequest for a plan ("exit_spec_mode") with a plan that the user has edited, if
// stream.TakesEditedPlan holds; droid does not list this among the options. droid saves the text as the specification, makes the model read
// it, and sets the mode to normal. An empty text is an error in 0.225 and was an approval before 0.215, so it is refused here.
func (c *Client) ApproveEditedPlan(requestID, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("an empty plan cannot be approved")
	}
	return c.answer(requestID, struct {
		SelectedOption    string `json:"selectedOption"`
		EditedSpecContent string `json:"editedSpecContent"`
	}{stream.OptionEdit, text})
}

// AnswerQuestions answers a QuestionRequest. It does not wait, and droid does not confirm. An error means that droid has exited.
func (c *Client) AnswerQuestions(requestID string, a stream.Answers) error {
	if a.Answers == nil {
		a.Answers = []stream.Answer{} // null is refused
	}
	return c.answer(requestID, a)
}

func (c *Client) answer(requestID string, result any) error {
	data, err := encodeResult(requestID, result)
	if err != nil {
		return err
	}
	if exit := c.exitError(); exit != nil {
		return exit
	}
	_, err = c.out.Put(data)
	return err
}

// Fork copies the session that the process works on and returns the copy's ID. The process stays in the original; Load switches to the copy
// (0.99 to 0.225).
func (c *Client) Fork(ctx context.Context) (sessionID string, err error) {
	var result struct {
		NewSessionID string `json:"newSessionId"`
	}
	if err := c.Call(ctx, methodFork, nil, &result); err != nil {
		return "", err
	}
	return result.NewSessionID, checkID(methodFork, result.NewSessionID)
}

// checkID refuses a session ID of droid that cannot be the name of a file in its store, such as the empty one.
func checkID(method, id string) error {
	if !stream.ValidSessionID(id) {
		return fmt.Errorf("%s: droid gave the session the id %.80q, which is not valid", strings.TrimPrefix(method, "droid."), id)
	}
	return nil
}
