// Package doctor finds out what keeps a user from working with droid by droid-acp. Each
// check is a row of a table and returns a value; how a report looks is in report.go.
// Nothing that a check starts or makes is left when it ends, and no check asks a model
// or Factory: apart.go has how that is so.
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

// Result is how a check ended.
type Result string

// The results.
const (
	OK      Result = "ok"
	Warning Result = "warning" // something is worth a look, and work goes on without it
	Failure Result = "failure" // it stops a user
	Skipped Result = "skipped" // it was not looked at; Found says why
)

// Check is one line of a report.
type Check struct {
	ID     string         `json:"id"`   // stable, for programs
	Name   string         `json:"name"` // for people
	Result Result         `json:"result"`
	Found  string         `json:"found"`           // what was found, in words
	ToDo   string         `json:"todo,omitempty"`  // what to do about it, "" for nothing
	Facts  map[string]any `json:"facts,omitempty"` // the same for programs, see docs/programs.md

	tells func(*inspection) // what later checks are to know, nil for nothing
}

// Report is what was found.
type Report struct {
	Version string // of droid-acp
	System  string // such as "linux/amd64"
	Checks  []Check
	NotRun  []string // the ids of those that were not made, or not to their end, since the doctor was ended
	Home    string   // is shown as "~"; "" for none
	Width   int      // of the table; 0 for 80
}

// Count is how many checks ended so.
func (r Report) Count(result Result) (n int) {
	for _, c := range r.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}

// Config says what is looked at.
type Config struct {
	Find             func() (string, error) // the droid program, see droid.Find
	Model            string                 // that new sessions are to start with, "" for droid's own
	Flags            []string               // of the doctor that other commands need too, to find the same droid
	Dir              string                 // the project
	Home             string                 // the user's directory, "" if it is not known
	Journal          string                 // see internal/workspace/editorfs; "" for none
	Version          string                 // of this program
	Width            int                    // see Report
	UnknownVariables []string               // what is wrong with variables of the environment, in words
	Trust            string                 // the command that lets the project run what it brings, "" where it may
	// Keep looks at the server of --keep, and where its socket lies; nil for nobody, who is not looked at.
	Keep func(context.Context) KeepStatus
	// Demo runs a turn with the built-in droid through the bridge.
	Demo func(context.Context) error
	// Each gets each check as soon as it is made, with the report so far; nil for nobody.
	Each func(Report, Check)
	// Started is told how to end at once what the doctor has started; nil for nobody.
	Started func(kill func())
	Log     *zap.Logger
	// Timeout is how long all checks with a droid may take together, 0 for half a minute;
	// droid's version gets half of it. Each check that reads files gets a third.
	Timeout time.Duration
}

// KeepStatus is what there is of --keep.
type KeepStatus struct {
	Socket string // the path of the server's socket, "" where there can be none
	Found  string // in words
	ToDo   string // "" where all is well
}

// inspection is something that is looked at, with what the looks before have found.
type inspection struct {
	Config
	factory  string            // droid's directory, such as ~/.factory
	blocked  map[string]string // what others need and cannot have, by id or as "temp", and the name of the check that says why
	login    string            // what droid keeps of a login, "" for nothing
	copies   map[string][]byte // what a droid that runs apart gets of the user's settings, by the names of files
	models   int               // how many own models the user has set up
	isolated *isolation        // nil before droid is found
	program  string            // droid's path
	droid    *droid.Client     // nil when none runs
	reader   *sync.WaitGroup   // the goroutine that reads its events
	opened   *openedSession    // nil when no session was opened
}

// row is a check.
type row struct {
	id, name string
	needs    string // without which it is not made, see inspection.blocked
	// run returns the check without id and name. A look that waits for droid heeds the
	// context and ends.
	run func(*inspection, context.Context) Check
	of  subject
}

// subject is what a check waits for.
type subject int

const (
	ofDroid subject = iota // all checks of it have one time
	// ofFiles: it reads files alone. It changes nothing of the inspection, and is not waited
	// for when a file system does not answer.
	ofFiles
	ofDemo
)

// table has all checks, in the order in which they are made and shown: what causes others
// comes before them.
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

// Run makes all checks. When ctx ends, those that are left are skipped.
func Run(ctx context.Context, cfg Config) Report {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	cfg.Log = cmp.Or(cfg.Log, zap.NewNop())
	p := &inspection{Config: cfg, factory: factoryDir(cfg.Home), blocked: map[string]string{}, reader: new(sync.WaitGroup)}
	defer func() { _ = p.end(ctx) }() // there is nobody left to tell
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

// check makes a check, unless something is missing that it needs.
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

// run makes a check that has a time of its own.
func (p *inspection) run(ctx context.Context, r row) Check {
	if r.of == ofDemo {
		ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
		defer cancel()
		return r.run(p, ctx)
	}
	patience, seen := p.Timeout/3, *p
	seen.blocked = maps.Clone(p.blocked) // a look that is not waited for may still read it
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

// ended explains why ctx ended a step that did not finish.
func (p *inspection) ended(ctx context.Context, what, todo string) Check {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return Check{Result: Failure, Found: fmt.Sprintf("%s within %v.", what, p.Timeout), ToDo: todo}
	}
	return Check{Result: Skipped, Found: "The doctor was ended."}
}

// factoryDir is where droid keeps its files ("FACTORY_HOME_OVERRIDE" is droid's own
// variable, 0.99 to 0.225), "" when that is not known.
func factoryDir(home string) string {
	if override := os.Getenv(envHome); override != "" {
		home = override
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".factory")
}

// list puts words behind each other, as "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// maxNames is how many names a line has.
const maxNames = 6

// some lists names, and says how many more there are.
func some(names []string, noun string) string {
	if len(names) <= maxNames {
		return list(names)
	}
	return strings.Join(names[:maxNames], ", ") + " and " + counted(len(names)-maxNames, "more "+noun)
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
