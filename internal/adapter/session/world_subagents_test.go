//go:build linux

package session_test

import (
	"path/filepath"

	"droid-acp/internal/testing/fakedroid"
)

// spawned is a subagent in the background that has asked for something.
type spawned struct {
	s    *fakedroid.Subagent
	tool fakedroid.Tool
	id   string // of the request
}

// delegates runs a subagent that asks the user: droid waits for it, or it continues after the turn. Only newer droids have such subagents.
func (p *worldDroid) delegates(waits bool) error {
	if !p.modern {
		return nil
	}
	s, d := p.d.NewSubagent("look", ""), p.d
	s.File = filepath.Join(p.w.root, "-p", s.ID+".jsonl")
	if waits {
		return d.Task("", func() error { return worksOn(d, s, "made") }, s)
	}
	if err := d.Task("", nil, s); err != nil {
		return err
	}
	if err := s.Write(s.Calls("", touch)); err != nil {
		return err
	}
	id, err := d.Asks(s, touch)
	p.spawned = append(p.spawned, spawned{s, touch, id})
	return err
}

// awaits waits for a prompt. It reports whether a subagent in the background was answered before.
func (p *worldDroid) awaits() (answered bool, err error) {
	if len(p.spawned) == 0 {
		return false, nil
	}
	return p.d.AwaitAnswerOrPrompt(p.spawned[0].id)
}

// reports ends a subagent that was answered, and makes droid process its report, if droid is still in that session.
func (p *worldDroid) reports() error {
	of := p.spawned[0]
	p.spawned = p.spawned[1:]
	if err := answeredFor(p.d, of.s, of.id, of.tool); err != nil || p.d.Session() != of.s.Parent {
		return err
	}
	return p.d.Report(of.s, "completed", "found it", func() error { return p.speak(5, nil) })
}
