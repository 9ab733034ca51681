// Package doctor finds out what prevents a user from working with droid through droid-acp. Its main function is Run, which the command
// doctor calls; it returns a Report. Each check is a row of a table and returns a value; report.go formats the report. Nothing that a check
// starts or creates remains when it ends, and no check contacts a model or Factory: see isolation.go.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/sys/files"
)

// Result is the outcome of a check.
type Result string

// Results of checks.
const (
	OK      Result = "ok"
	Warning Result = "warning" // something should be looked at, but does not prevent work
	Failure Result = "failure" // it prevents work
	Skipped Result = "skipped" // it was not checked; Found says why
)

// Check is one line of a report.
type Check struct {
	ID     string         `json:"id"`   // stable, for programs
	Name   string         `json:"name"` // for people
	Result Result         `json:"result"`
	Found  string         `json:"found"`           // what was found, for people
	ToDo   string         `json:"todo,omitempty"`  // what to do about it, "" if nothing
	Facts  map[string]any `json:"facts,omitempty"` // the findings for programs, see docs/programs.md

	tells func(*inspection) // passes information to later checks, may be nil
}

// Report is the result of all checks.
type Report struct {
	Version string // of droid-acp
	System  string // such as "linux/amd64"
	Checks  []Check
	NotRun  []string // IDs of checks that were not run, or not to their end, because the doctor was ended
	Home    string   // shown as "~"; "" if unknown
	Width   int      // of the table; 0 for 80
}

// Count returns the number of checks with this result.
func (r Report) Count(result Result) (n int) {
	for _, c := range r.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}

// Config configures the checks.
type Config struct {
	Find             func() (string, error) // the droid program, see droid.Find
	Model            string                 // of new sessions, "" for droid's own
	Flags            []string               // the doctor's flags that other commands also need to find the same droid
	Dir              string                 // the project
	Home             string                 // the user's directory, "" if unknown
	Journal          string                 // see internal/workspace/editorfs; "" if none
	Version          string                 // of this program
	Width            int                    // see Report
	UnknownVariables []string               // problems with environment variables, as sentences
	Trust            string                 // the command that allows the project's configuration, "" if it is allowed
	// Keep checks the server of --keep and the path of its socket; nil to skip that.
	Keep func(context.Context) KeepStatus
	// Demo runs a turn with the built-in droid through the bridge.
	Demo func(context.Context) error
	// Each is called with each check when it has ended, and the report so far; may be nil.
	Each func(Report, Check)
	// Started is called with a function that ends everything the doctor has started; may be nil.
	Started func(kill func())
	Log     *zap.Logger
	// Timeout limits all checks with a droid together, 0 for half a minute; droid's version gets half of it. Each check that reads files
	// gets a third.
	Timeout time.Duration
}

// KeepStatus is the state of --keep.
type KeepStatus struct {
	Socket string // path of the server's socket, "" if there can be none
	Found  string // for people
	ToDo   string // "" if all is well
}

// inspection is a running examination, with the findings of the checks so far.
type inspection struct {
	Config
	factory  string            // droid's directory, such as ~/.factory
	blocked  map[string]string // what other checks need and is unavailable, by check ID or "temp", with the name of the check that says why
	login    string            // what droid stores of a login, "" if nothing
	copies   map[string][]byte // the copies of the user's settings files for an isolated droid, by file name
	models   int               // number of the user's own models
	isolated *isolation        // nil until droid is found
	program  string            // droid's path
	droid    *droid.Client     // nil if none runs
	reader   *sync.WaitGroup   // the goroutine that reads its events
	opened   *openedSession    // nil if no session was opened
}

// row is a check.
type row struct {
	id, name string
	needs    string // ID of what it requires, see inspection.blocked
	// run returns the check without ID and name. If it waits for droid, it must return when the context ends.
	run func(*inspection, context.Context) Check
	of  subject
}

// subject is what a check waits for.
type subject int

const (
	ofDroid subject = iota // all of its checks share one time limit
	// ofFiles checks only read files. They do not modify the inspection, and are abandoned if a file system does not answer.
	ofFiles
	ofDemo
)

// table lists all checks, in the order in which they run and are shown: causes before their effects.
var table = []row{
	{"home", "home directory", "", checkHome, ofFiles},
	{"state", "own files", "", checkState, ofFiles},
	{"settings", "settings, own models", "home", checkSettings, ofFiles},
	{"droid", "droid found", "home temp", checkDroid, ofDroid},
	{"start", "droid starts", "droid", checkStart, ofDroid},
	{"session", "session opens", "start", checkSession, ofDroid},
	{"login", "login", "home", checkLogin, ofFiles},
	{"mcp", "MCP servers", "home", checkMCP, ofFiles},
	{"hooks", "hooks", "home", checkHooks, ofFiles},
	{"variables", "environment", "", checkVariables, ofFiles},
	{"keep", "server of --keep", "", checkKeep, ofFiles},
	{"bridge", "demo through the bridge", "temp", checkBridge, ofDemo},
	{"model", "turn with a model", "session", checkModel, ofFiles},
}

// errTimeout ends a step that takes too long.
var errTimeout = errors.New("time is up")

// Run runs all checks. When ctx ends, the remaining ones are skipped.
func Run(ctx context.Context, cfg Config) Report {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	cfg.Log = cmp.Or(cfg.Log, zap.NewNop())
	p := &inspection{Config: cfg, factory: factoryDir(cfg.Home), blocked: map[string]string{}, reader: new(sync.WaitGroup)}
	defer func() { _ = p.end(ctx) }() // nobody is left to report it to
	withDroid, cancel := context.WithTimeoutCause(ctx, cfg.Timeout, errTimeout)
	defer cancel()
	report := Report{Version: cfg.Version, System: runtime.GOOS + "/" + runtime.GOARCH, Home: cfg.Home, Width: cfg.Width}
	for _, r := range table {
		check := p.check(ctx, withDroid, r)
		check.ID, check.Name = r.id, r.name
		if check.Result == Skipped && ctx.Err() != nil {
			report.NotRun = append(report.NotRun, r.id)
		}
		report.Checks = append(report.Checks, check)
		if cfg.Each != nil {
			cfg.Each(report, check)
		}
	}
	return report
}

// check runs a check, unless something that it requires is missing.
func (p *inspection) check(ctx, withDroid context.Context, r row) Check {
	if ctx.Err() != nil {
		return Check{Result: Skipped, Found: "Not looked at: the doctor was ended before."}
	}
	for need := range strings.FieldsSeq(r.needs) {
		if why := p.blocked[need]; why != "" {
			p.blocked[r.id] = why
			return Check{Result: Skipped, Found: fmt.Sprintf("Not looked at, because of %q above.", why)}
		}
	}
	var check Check
	if r.of == ofDroid {
		check = r.run(p, withDroid)
	} else {
		check = p.run(ctx, r)
	}
	if check.Result == Failure {
		p.blocked[r.id] = r.name
	}
	if check.tells != nil {
		check.tells(p)
	}
	return check
}

// run runs a check with its own time limit.
func (p *inspection) run(ctx context.Context, r row) Check {
	if r.of == ofDemo {
		ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
		defer cancel()
		return r.run(p, ctx)
	}
	patience, seen := p.Timeout/3, *p
	seen.blocked = maps.Clone(p.blocked) // an abandoned check may still read it
	check, err := files.CallBounded(ctx, files.NewCallLimiter(1, patience), "a check", r.name, func(string) (Check, error) { return r.run(&seen, ctx), nil })
	switch {
	case err == nil:
		return check
	case errors.Is(err, files.ErrHangs):
		return Check{Result: Failure, Found: fmt.Sprintf("The files could not be read within %v.", patience),
			ToDo: "Look whether your home directory or the project lies on a file system that does not answer."}
	}
	return Check{Result: Skipped, Found: "Not looked at: the doctor was ended."}
}

// ended explains why ctx ended an unfinished step.
func (p *inspection) ended(ctx context.Context, what, todo string) Check {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return Check{Result: Failure, Found: fmt.Sprintf("%s within %v.", what, p.Timeout), ToDo: todo}
	}
	return Check{Result: Skipped, Found: "The doctor was ended."}
}

// factoryDir returns the directory of droid's files, "" if unknown. FACTORY_HOME_OVERRIDE is a variable of droid (0.99 to 0.225).
func factoryDir(home string) string {
	if override := os.Getenv(envHome); override != "" {
		home = override
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".factory")
}

// list joins words, as "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// maxNames is the maximum number of names in a line.
const maxNames = 6

// some lists names, and says how many more there are.
func some(names []string, noun string) string {
	if len(names) <= maxNames {
		return list(names)
	}
	return strings.Join(names[:maxNames], ", ") + " and " + counted(len(names)-maxNames, "more "+noun)
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
