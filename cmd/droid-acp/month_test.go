package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"droid-acp/internal/testing/fakedroid"
)

// envMonth makes this test program, run as droid, monthDroid.
const envMonth = "SCRIPTED_MONTH"

// monthDroid is the droid of TestServerMonth: the prompt's first word says what it does. It has a stored session once it had a prompt.
func monthDroid(d *fakedroid.Droid, p fakedroid.Prompt) error {
	dir := filepath.Join(droidStore(), "-work")
	file := filepath.Join(dir, d.Session()+".jsonl")
	if _, err := os.Stat(file); err != nil {
		line := fmt.Appendf(nil, `{"type":"session_start","id":%q,"title":"T","cwd":%q}`+"\n"+`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}`+"\n", d.Session(), filepath.Join(os.Getenv("HOME"), "work"))
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, line, 0o600)); err != nil {
			return err
		}
	}
	switch word, _, _ := strings.Cut(p.Text, " "); word {
	case "stream":
		for range 20 {
			if err := inTurn(func() error { return d.Pause(20 * time.Millisecond) }, func() error { return d.Say("", "a word ") }); err != nil {
				return err
			}
		}
		return nil
	case "flood":
		for range 1000 {
			if err := d.Say("", strings.Repeat("x", 2000)); err != nil {
				return err
			}
		}
		return nil
	case "ask":
		return inTurn(func() error { return d.Use("", "I look. ", touches()) }, func() error { return d.Say("", "Done.") })
	case "silence":
		return d.Silence()
	case "die":
		return d.Die(9, "")
	default:
		return d.Say("", "You said "+p.Text)
	}
}
