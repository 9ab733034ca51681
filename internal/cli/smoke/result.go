package smoke

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"droid-acp/internal/text/visible"
)

// Format is the version of the result's fields. Adding a field does not change it.
const Format = 1

// Result is the result of a run. docs/ci.md describes its fields.
type Result struct {
	Format    int            `json:"format"`
	Agent     Agent          `json:"agent"`
	Outcome   Outcome        `json:"outcome"`
	ExitCode  int            `json:"exitCode"`
	Reason    string         `json:"reason,omitempty"` // why it did not pass, for people
	Started   time.Time      `json:"started"`
	Seconds   float64        `json:"seconds"`
	Dir       string         `json:"cwd"`
	SessionID string         `json:"sessionId,omitempty"` // empty if no session was opened
	Totals    Totals         `json:"totals"`
	Prompts   []PromptResult `json:"prompts"`
}

// Agent describes the agent as in its answer to initialize.
type Agent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// PromptResult is the result of one prompt.
type PromptResult struct {
	Prompt     string       `json:"prompt"`
	Outcome    Outcome      `json:"outcome"`
	StopReason string       `json:"stopReason,omitempty"` // ACP's, if the turn ended without an error
	Error      *PromptError `json:"error,omitempty"`
	Answer     string       `json:"answer"`
	// Output is the answer in the form of the prompt's schema, nil without one.
	Output       json.RawMessage      `json:"structuredOutput,omitempty"`
	Seconds      float64              `json:"seconds"`
	ToolCalls    []ToolCall           `json:"toolCalls"`
	Permissions  []Permission         `json:"permissions"`
	Tokens       *Tokens              `json:"tokens,omitempty"` // if droid reported them
	Expectations []CheckedExpectation `json:"expectations"`
}

// ToolCall is the last known state of a tool call.
type ToolCall struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind,omitempty"`   // ACP's
	Status string `json:"status,omitempty"` // ACP's; that of a failed or refused call is "failed"
}

// Permission is a permission request and its answer.
type Permission struct {
	Title  string `json:"title"`
	Answer string `json:"answer,omitempty"` // the option's name
	Kind   string `json:"kind"`             // the option's kind (ACP), "cancelled" if none fitted
}

// Tokens is the usage of a prompt's turn. Input does not include the cache's tokens.
type Tokens struct {
	Total       int64 `json:"totalTokens"`
	Input       int64 `json:"inputTokens"`
	Output      int64 `json:"outputTokens"`
	CachedRead  int64 `json:"cachedReadTokens,omitempty"`
	CachedWrite int64 `json:"cachedWriteTokens,omitempty"`
}

// Totals are sums over all prompts.
type Totals struct {
	Prompts         int     `json:"prompts"`
	Passed          int     `json:"passed"`
	Failed          int     `json:"failed"`
	NotRun          int     `json:"notRun"`
	Expectations    int     `json:"expectations"`
	Met             int     `json:"expectationsMet"`
	ToolCalls       int     `json:"toolCalls"`
	ToolCallsFailed int     `json:"toolCallsFailed"`
	Permissions     int     `json:"permissions"`
	Allowed         int     `json:"permissionsAllowed"`
	Tokens          *Tokens `json:"tokens,omitempty"` // of the prompts with known usage
}

// reason says why a prompt did not pass, "" if it passed or was not run.
func (p *PromptResult) reason() string {
	switch {
	case p.Error != nil:
		return p.Error.Message
	case p.Outcome == TurnFailed:
		return "the turn ended with " + p.StopReason
	case p.Outcome == NotMet:
		return p.notMet()
	}
	return ""
}

// notMet names the first expectation that is not met.
func (p *PromptResult) notMet() string {
	for _, c := range p.Expectations {
		if !c.Met {
			return fmt.Sprintf("expected: %v; found: %s", Expectation{c.File, c.Contains, c.Schema}, c.Found)
		}
	}
	return ""
}

// conclude sets the fields that follow from the prompts. A failed turn outweighs an unmet expectation.
func (r *Result) conclude() {
	r.Format, r.Outcome = Format, Passed
	for i := range r.Prompts {
		p := &r.Prompts[i]
		if p.Outcome != NotRun && p.Outcome != Passed && (r.Outcome == Passed || r.Outcome == NotMet && p.Outcome != NotMet) {
			r.Outcome = p.Outcome
			r.Reason = fmt.Sprintf("prompt %d: %s", i+1, p.reason())
			if len(r.Prompts) == 1 {
				r.Reason = p.reason()
			}
		}
		r.Totals.add(p)
	}
	r.ExitCode = r.Outcome.ExitCode()
}

func (t *Totals) add(p *PromptResult) {
	t.Prompts++
	switch p.Outcome {
	case Passed:
		t.Passed++
	case NotRun:
		t.NotRun++
	default:
		t.Failed++
	}
	t.Expectations += len(p.Expectations)
	for _, c := range p.Expectations {
		if c.Met {
			t.Met++
		}
	}
	t.ToolCalls += len(p.ToolCalls)
	for _, c := range p.ToolCalls {
		if c.Status == "failed" {
			t.ToolCallsFailed++
		}
	}
	t.Permissions += len(p.Permissions)
	for _, a := range p.Permissions {
		if a.Kind == kindAllowOnce {
			t.Allowed++
		}
	}
	if p.Tokens != nil {
		t.Tokens = t.Tokens.plus(*p.Tokens)
	}
}

func (t *Tokens) plus(o Tokens) *Tokens {
	if t == nil {
		return &o
	}
	return &Tokens{t.Total + o.Total, t.Input + o.Input, t.Output + o.Output, t.CachedRead + o.CachedRead, t.CachedWrite + o.CachedWrite}
}

// JSON returns the result in the format of the file.
func (r *Result) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return []byte(visible.JSONLine(string(text)) + "\n"), err
}

// summary shows the result of a run.
func (v *viewer) summary(r *Result) {
	for i, line := range r.Summary() {
		label, s := "", style("")
		if i == 0 {
			if label, s = "summary", red; r.Outcome == Passed {
				s = green
			}
		}
		v.styled(label, s, line)
	}
}

// Summary describes the result of a run in a few lines: the prompts, the work, and why prompts did not pass.
func (r *Result) Summary() []string {
	t := r.Totals
	first := fmt.Sprintf("%s: %d passed, %d failed", count(t.Prompts, "prompt"), t.Passed, t.Failed)
	if t.NotRun > 0 {
		first += fmt.Sprintf(", %d not run", t.NotRun)
	}
	if t.Expectations > 0 {
		first += fmt.Sprintf("; %d of %s met", t.Met, count(t.Expectations, "expectation"))
	}
	work := []string{count(t.ToolCalls, "tool call")}
	if t.ToolCallsFailed > 0 {
		work[0] += fmt.Sprintf(" (%d failed or refused)", t.ToolCallsFailed)
	}
	work = append(work, count(t.Permissions, "permission"))
	if t.Permissions > 0 {
		work[1] += fmt.Sprintf(" (%d allowed)", t.Allowed)
	}
	work = append(work, time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond).String())
	if t.Tokens != nil {
		work = append(work, fmt.Sprintf("%s (%d in, %d out)", count(int(t.Tokens.Total), "token"), t.Tokens.Input, t.Tokens.Output))
	}
	lines := []string{first, strings.Join(work, ", ")}
	for i := range r.Prompts {
		if why := r.Prompts[i].reason(); why != "" {
			lines = append(lines, fmt.Sprintf("prompt %d, %s: %s", i+1, r.Prompts[i].Outcome, why))
		}
	}
	return lines
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
