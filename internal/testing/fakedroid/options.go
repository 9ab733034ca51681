package fakedroid

import (
	"io"
	"time"
)

// Option changes how Run plays.
type Option func(*Droid)

// WithVersion imitates another version than V0225.
func WithVersion(v Version) Option { return func(d *Droid) { d.version = v } }

// WithPace waits that long between streamed pieces. The default is 0.
func WithPace(pace time.Duration) Option { return func(d *Droid) { d.pace = pace } }

// WithStderr gives droid's stderr a place. The default discards it.
func WithStderr(w io.Writer) Option { return func(d *Droid) { d.stderr = w } }

// WithMode starts sessions in this autonomyMode, as a settings.json with
// sessionDefaultSettings does. The default is "normal".
func WithMode(mode string) Option { return func(d *Droid) { d.settings.setMode(mode) } }

// WithFolding takes messages that come while tools run into the running turn, as
// droid does (quirk 2). The default plays each as a turn of its own.
func WithFolding() Option { return func(d *Droid) { d.folds = true } }

// WithLateInterrupts finishes an interrupt 50 ms after the idle, as 0.99 does on
// a busy machine: it throws away what waits by then, and answers. The default is
// to do both before.
func WithLateInterrupts() Option { return func(d *Droid) { d.late = true } }

// Answer answers a request: with a result, or with the text of an error when
// refused is not "". With neither, the fake answers as it would without it.
type Answer func(params map[string]any) (result any, refused string)

// NoAnswer is the result of an Answer that leaves the request open.
type NoAnswer struct{}

// Later is the result of an Answer that comes after a while, as Then says at that time. Meanwhile droid
// does what else it is asked.
type Later struct {
	After time.Duration
	Then  Answer
}

// WithAnswer has the fake answer a method this way instead of its own.
func WithAnswer(method string, a Answer) Option {
	return func(d *Droid) {
		if d.answers == nil {
			d.answers = map[string]Answer{}
		}
		d.answers[method] = a
	}
}
