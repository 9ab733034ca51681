package smoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Options configure Run.
type Options struct {
	Prompts []Prompt
	CWD     string // absolute
	Mode    string // session mode to set first, "" for droid's own
	Model   string // required model of the session, "" for any
	Effort  string // its required reasoning effort, "" for any
	Allow   Policy
	JSON    bool        // show the raw protocol lines instead of the readable form
	Colour  bool        // show the readable form in colours
	Log     *zap.Logger // for errors of the client itself; may be nil
}

// Run sends the prompts one after the other, in one session, to the agent connected to in and out, and shows the conversation on w. A
// failed turn ends the run, since later prompts build on it; an unmet expectation does not. It returns when ctx ends, provided that the
// agent then closes its output.
func Run(ctx context.Context, in io.Reader, out, w io.Writer, o Options) *Result {
	c := connect(in, out, w, o)
	defer c.close()
	r := &Result{Started: time.Now(), Dir: o.CWD, Prompts: make([]PromptResult, len(o.Prompts))}
	for i, p := range o.Prompts {
		r.Prompts[i] = PromptResult{Prompt: p.Text, Outcome: NotRun, ToolCalls: []ToolCall{}, Permissions: []Permission{}, Expectations: []CheckedExpectation{}}
		for _, e := range p.Expect {
			r.Prompts[i].Expectations = append(r.Prompts[i].Expectations, e.unchecked())
		}
	}
	err := c.open(r, o)
	for i := 0; i < len(o.Prompts) && err == nil; i++ {
		err = c.prompt(ctx, r, o, i)
	}
	if err != nil && c.turn == nil && len(r.Prompts) > 0 {
		r.Prompts[0].fail(ctx, err) // it was not reached
	}
	c.show.end()
	r.Seconds = time.Since(r.Started).Seconds()
	r.conclude()
	c.show.summary(r)
	return r
}

// open opens the session.
func (c *client) open(r *Result, o Options) error {
	var initialized struct {
		AgentInfo Agent `json:"agentInfo"`
	}
	if err := c.call("initialize", map[string]any{
		"protocolVersion":    1,
		"clientCapabilities": map[string]any{},
		"clientInfo":         map[string]any{"name": "droid-acp smoke", "version": "1"},
	}, &initialized); err != nil {
		return err
	}
	r.Agent = initialized.AgentInfo
	var session openedSession
	if err := c.call("session/new", map[string]any{"cwd": o.CWD, "mcpServers": []any{}}, &session); err != nil {
		return err
	}
	r.SessionID = session.SessionID
	if err := session.check("model", o.Model); err != nil {
		return err
	}
	if err := session.check("reasoning_effort", o.Effort); err != nil {
		return err
	}
	if o.Mode != "" {
		return c.call("session/set_mode", map[string]any{"sessionId": session.SessionID, "modeId": o.Mode}, &struct{}{})
	}
	return nil
}

// openedSession is the result of session/new.
type openedSession struct {
	SessionID     string `json:"sessionId"`
	ConfigOptions []struct {
		ID           string `json:"id"`
		CurrentValue any    `json:"currentValue"`
		Options      []struct {
			Value string `json:"value"`
		} `json:"options"`
	} `json:"configOptions"`
}

// check returns an error if droid ignored a requested option, which the agent reports only as text.
func (s openedSession) check(id, want string) error {
	if want == "" {
		return nil
	}
	for _, option := range s.ConfigOptions {
		switch {
		case option.ID == id && option.CurrentValue == want:
			return nil
		case option.ID == id:
			text := fmt.Sprintf("droid did not take the %s %q; it has %q", id, want, option.CurrentValue)
			if n := len(option.Options); n > 0 {
				values := make([]string, n)
				for i, o := range option.Options {
					values[i] = o.Value
				}
				text += fmt.Sprintf(", and offers %d: %s", n, strings.Join(values, ", "))
			}
			return errors.New(text)
		}
	}
	return fmt.Errorf("droid did not take the %s %q; the session offers none", id, want)
}

// endTurn is the stop reason of a turn that ended normally (ACP v1).
const endTurn = "end_turn"

// prompt runs prompt number i, and returns the error that ends the run.
func (c *client) prompt(ctx context.Context, r *Result, o Options, i int) error {
	p, started := &r.Prompts[i], time.Now()
	c.turn = p
	c.show.prompt(p.Prompt)
	var done struct {
		StopReason string  `json:"stopReason"`
		Usage      *Tokens `json:"usage"`
		Meta       struct {
			Own struct {
				StructuredOutput json.RawMessage
				Error            *jsonrpc.Error // of a slash command
			} `json:"droid-acp"`
		} `json:"_meta"`
	}
	params := map[string]any{"sessionId": r.SessionID, "prompt": []any{map[string]any{"type": "text", "text": p.Prompt}}}
	if schema := o.Prompts[i].Schema; schema != nil {
		params["_meta"] = map[string]any{"droid-acp": map[string]any{"outputFormat": map[string]any{"type": "json_schema", "schema": schema}}}
	}
	err := c.call("session/prompt", params, &done)
	p.Seconds = time.Since(started).Seconds()
	if failed := done.Meta.Own.Error; err == nil && failed != nil {
		err = &rpcError{failed.Code, failed.Message, failed.Data, "session/prompt"}
	}
	if err != nil {
		p.fail(ctx, err)
		return err
	}
	if p.Tokens = done.Usage; ctx.Err() != nil && done.StopReason != endTurn {
		p.fail(ctx, nil) // the agent cancelled the turn for this reason
		return context.Cause(ctx)
	}
	p.StopReason, p.Output, p.Outcome = done.StopReason, done.Meta.Own.StructuredOutput, Passed
	for i, e := range o.Prompts[i].Expect {
		checked := e.check(p, o.CWD)
		p.Expectations[i] = checked
		c.show.checked(e, checked)
		if !checked.Met {
			p.Outcome = NotMet
		}
	}
	if p.StopReason != endTurn {
		p.Outcome = TurnFailed
		return fmt.Errorf("the turn ended with %s", p.StopReason)
	}
	return nil
}

// fail sets the error that ended the prompt: the end of ctx, if that was the cause.
func (p *PromptResult) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	p.Outcome, p.Error = outcomeOf(err), promptErrorOf(err)
}
