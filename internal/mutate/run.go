package mutate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
)

// Config says what a run does. Its zero value needs Package and Workers.
type Config struct {
	Dir      string         // where Package and Also are looked up, "" for the current directory
	Package  string         // whose code is changed, and whose tests are run
	Also     []Tests        // that are run when those of Package notice nothing
	Seed     uint64         // of the choice
	Only     *regexp.Regexp // what the keys of mutants must match, as Key.String says them; nil for all
	Count    int            // how many mutants that compile, 0 for all
	Workers  int            // how many mutants are tested at a time
	Accepted []Accepted     // of any package
	Done     func(Result)   // is called after each mutant, from one goroutine at a time; may be nil
}

// Tests are tests of another package.
type Tests struct {
	Package string
	Run     string // as of go test -run, "" for all
}

// Fate is what became of a mutant.
type Fate int

// Fates of a mutant.
const (
	Survived   Fate = iota // no test noticed it
	Killed                 // a test failed
	Hung                   // the tests took too long, which counts as killed
	Uncompiled             // it is no Go, which does not count at all
)

// String names the fate.
func (f Fate) String() string {
	return [...]string{"survived", "killed", "hung", "not compiled"}[f]
}

// Result is what became of one mutant.
type Result struct {
	Mutant
	Fate   Fate
	Reason string // why it may survive, "" when it did not or nobody said why
}

// Report is the result of a run.
type Report struct {
	Folder  string     // of the package
	Results []Result   // of the mutants that compile, in the order of Mutants
	Stale   []Accepted // entries for this package that are of no survivor; see Run
}

// Run tests the first mutants of a package. It changes no file of the package.
//
// An accepted survivor is stale when the package has no such mutant any more, or when
// all that the run tested of it were killed. With Only, none is looked for.
func Run(ctx context.Context, c Config) (Report, error) {
	p, err := Load(ctx, c.Dir, c.Package)
	if err != nil {
		return Report{}, err
	}
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(work)
	b, err := newBench(ctx, c, p, work)
	if err != nil {
		return Report{}, err
	}
	mutants := Mutants(p, c.Seed)
	if c.Only != nil {
		mutants = slices.DeleteFunc(mutants, func(m Mutant) bool { return !c.Only.MatchString(m.String()) })
	}
	r := run{config: c, try: b.try, mutants: mutants, results: make([]*Result, len(mutants))}
	if err := r.all(ctx); err != nil {
		return Report{}, err
	}
	report := Report{Folder: p.Folder}
	if c.Only == nil {
		report.Stale = stale(p.Folder, c.Accepted, mutants, r.results)
	}
	for _, result := range r.results {
		if result != nil && result.Fate != Uncompiled {
			report.Results = append(report.Results, *result)
		}
	}
	return report, nil
}

// run is the work on one package, shared by the workers.
type run struct {
	config  Config
	try     func(ctx context.Context, worker string, m Mutant) (Fate, error)
	mutants []Mutant

	mu       sync.Mutex
	results  []*Result // by mutant, nil where it was not tested
	next     int       // the mutant to test next
	working  int       // mutants that are being tested
	compiled int       // mutants that were tested and do compile
	failed   error
	freed    *sync.Cond // a mutant was tested
}

// all lets the workers test mutants until enough of them compile.
func (r *run) all(ctx context.Context) error {
	r.freed = sync.NewCond(&r.mu)
	var workers sync.WaitGroup
	for w := range r.config.Workers {
		workers.Go(func() {
			for i, ok := r.take(); ok; i, ok = r.take() {
				fate, err := r.try(ctx, fmt.Sprint(w), r.mutants[i])
				r.record(i, fate, err)
			}
		})
	}
	workers.Wait()
	return errors.Join(r.failed, ctx.Err())
}

// take returns the mutant to test next. It waits while those in work are enough if
// all of them compile, so that the same mutants are tested whatever the workers' pace.
func (r *run) take() (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	enough := r.config.Count
	if enough == 0 {
		enough = len(r.mutants)
	}
	for r.failed == nil && r.compiled < enough && r.compiled+r.working >= enough {
		r.freed.Wait()
	}
	if r.failed != nil || r.compiled == enough || r.next == len(r.mutants) {
		return 0, false
	}
	r.next++
	r.working++
	return r.next - 1, true
}

// record notes what became of a mutant.
func (r *run) record(i int, fate Fate, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.freed.Broadcast()
	r.working--
	if err != nil {
		r.failed = errors.Join(r.failed, err)
		return
	}
	result := Result{Mutant: r.mutants[i], Fate: fate}
	for _, a := range r.config.Accepted {
		if fate == Survived && a.Key == result.Key {
			result.Reason = a.Reason
		}
	}
	r.results[i] = &result
	if fate == Uncompiled {
		return
	}
	r.compiled++
	if r.config.Done != nil {
		r.config.Done(result)
	}
}

// stale returns the entries for the package in folder that explain no mutant.
func stale(folder string, accepted []Accepted, mutants []Mutant, results []*Result) []Accepted {
	var out []Accepted
	for _, a := range accepted {
		if a.Package != folder {
			continue
		}
		open := false // whether a mutant of the entry survived or was not tested
		for i, m := range mutants {
			if m.Key == a.Key && (results[i] == nil || results[i].Fate == Survived) {
				open = true
			}
		}
		if !open {
			out = append(out, a)
		}
	}
	return out
}

// Survivors returns the mutants that no test noticed.
func (r Report) Survivors() []Result {
	var out []Result
	for _, result := range r.Results {
		if result.Fate == Survived {
			out = append(out, result)
		}
	}
	return out
}
