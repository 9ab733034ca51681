package fakedroid

import (
	"io"
	"time"
)

// Option configures Run.
type Option func(*Droid)

// WithVersion imitates a version other than V0225.
func WithVersion(v Version) Option { return func(d *Droid) { d.version = v } }

// WithPace sets the pause between streamed pieces, and until droid takes the mode of an answer. The default is 0.
func WithPace(pace time.Duration) Option { return func(d *Droid) { d.pace = pace } }

// WithStderr sets droid's stderr. The default discards it.
func WithStderr(w io.Writer) Option { return func(d *Droid) { d.stderr = w } }

// WithMode sets the initial autonomyMode of sessions, as a settings.json with sessionDefaultSettings does. The default is "normal".
func WithMode(mode string) Option { return func(d *Droid) { d.settings.setMode(mode) } }

// WithFolding merges messages that arrive while tools run into the running turn, as droid does (quirk 2). The default plays each as a
// separate turn.
func WithFolding() Option { return func(d *Droid) { d.folds = true } }

// WithLateInterrupts finishes an interrupt 50 ms after idle, as 0.99 does on a busy machine: it drops what is queued by then, and answers.
// The default is to do both before.
func WithLateInterrupts() Option { return func(d *Droid) { d.late = true } }

// Answer answers a request: with a result, or with the text of an error if refused is not "". With neither, the fake answers as by default.
type Answer func(params map[string]any) (result any, refused string)

// NoAnswer is the result of an Answer that leaves the request unanswered.
type NoAnswer struct{}

// Later is the result of an Answer that is sent after a while, as determined by Then at that time. droid handles other requests until then.
type Later struct {
	After time.Duration
	Then  Answer
}

// WithAnswer makes the fake answer a method in this way.
func WithAnswer(method string, a Answer) Option {
	return func(d *Droid) {
		if d.answers == nil {
			d.answers = map[string]Answer{}
		}
		d.answers[method] = a
	}
}
