package adapter

import (
	"encoding/json"
	"time"

	"droid-acp/internal/droid/stream"
)

// views are the open tool calls that need more than their status to be shown.
// The zero value is ready. The session's owner alone touches them.
type views struct {
	open  map[string]*view
	held  []heldCall                    // not announced yet, in order
	hooks map[string]stream.HookStarted // that run, by their id
	past  bool                          // what is shown is history: the files of its edits have changed since
}

// view is one open tool call, by its kind.
type view struct {
	name    string
	command *command
	edit    *edit
	todo    *todo
	task    *task
	plan    *planView
}

// add begins the view of a call.
func (v *views) add(id, name string) *view {
	if v.open == nil {
		v.open = make(map[string]*view)
	}
	one := &view{name: name}
	switch {
	case name == "Execute":
		one.command = &command{}
	case name == "TodoWrite":
		one.todo = &todo{}
	case name == "Task":
		one.task = &task{}
	case name == "ExitSpecMode":
		one.plan = &planView{}
	case isEdit(name):
		one.edit = &edit{}
	}
	v.open[id] = one
	return one
}

// get returns the view of an open call; of one that is not known an empty view.
func (v *views) get(id string) *view {
	if one := v.open[id]; one != nil {
		return one
	}
	return &view{}
}

func (v *views) remove(id string) { delete(v.open, id) }

// due is when output or a call waits to be shown; false when none does.
func (v *views) due() (at time.Time, ok bool) {
	for _, h := range v.held {
		if !h.at.IsZero() && (!ok || h.at.Before(at)) {
			at, ok = h.at, true
		}
	}
	for _, one := range v.open {
		if c := one.command; c != nil && c.dirty {
			next := c.sent.Add(outputEvery)
			if !ok || next.Before(at) {
				at, ok = next, true
			}
		}
	}
	return at, ok
}

// flushViews shows the output and the calls that are due.
func (s *Session) flushViews(now time.Time) {
	s.announceDue(now)
	for id, one := range s.views.open {
		if one.command != nil {
			s.flushCommand(id, one.command, now)
		}
	}
}

// resultText is a result's text: the string itself, or its text blocks.
func resultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	for _, c := range resultContent(raw) {
		if c.Content != nil && c.Content.Text != nil {
			text += *c.Content.Text
		}
	}
	return text
}
