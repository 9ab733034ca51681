package droid

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// ErrHooks says that a process cannot have the hooks it was to be given. The error that
// wraps it says why.
var ErrHooks = errors.New("droid gets no hooks")

// Hook is a command that droid runs at an event, with a description of the event in JSON on stdin.
type Hook struct {
	Event   string // such as "PreToolUse" or "PostToolUse"
	Matcher string // a regular expression for tool names, "" for every tool
	Command string // for the shell
	// Timeout is how long droid waits for the command, rounded up to whole seconds; zero for droid's default. 0.225 then kills the command,
	// 0.99 waits for it anyway.
	Timeout time.Duration
}

// hooksByEvent is the "hooks" object of a settings file: for each event a list of matchers with their commands.
type hooksByEvent map[string][]json.RawMessage

// entry returns the hook as an element of its event's list.
func (h Hook) entry() (json.RawMessage, error) {
	type command struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int64  `json:"timeout,omitempty"`
	}
	return json.Marshal(struct {
		Matcher string    `json:"matcher,omitempty"`
		Hooks   []command `json:"hooks"`
	}{h.Matcher, []command{{"command", h.Command, int64((h.Timeout + time.Second - 1) / time.Second)}}})
}

// allHooks returns the hooks of r, and the user's own hooks as well if droid would replace those. The error is ErrHooks.
func (c *Client) allHooks(r Runtime) (hooksByEvent, error) {
	if len(r.Hooks) == 0 {
		return nil, nil
	}
	version := c.Version()
	if version.IsZero() {
		return nil, fmt.Errorf("%w: it has not told its version, so it is not known what they would do to the user's own", ErrHooks)
	}
	all := make(hooksByEvent)
	for _, h := range r.Hooks {
		entry, err := h.entry()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrHooks, err)
		}
		all[h.Event] = append(all[h.Event], entry)
	}
	if version.Supports(stream.AddsHooks) {
		return all, nil
	}
	if r.replacesHooks() {
		return all, nil // excludeHooks adds the user's own, and none of the project's
	}
	users, err := userHooks(r.CWD, Home(c.env), slices.Sorted(maps.Keys(all)))
	if err != nil {
		return nil, fmt.Errorf("%w: they would take the place of the user's own, and those cannot be read: %w", ErrHooks, err)
	}
	for event := range all {
		all[event] = append(users[event], all[event]...)
	}
	return all, nil
}
