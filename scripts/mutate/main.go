// Command mutate runs the tests of packages against small changes of their code, and
// fails when too many changes, or unexplained ones, are noticed by no test.
// See the package droid-acp/internal/mutate.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"

	"droid-acp/internal/mutate"
)

const usage = `Usage: go run ./scripts/mutate [flags] PACKAGE...

Changes one small thing of a package at a time and runs the package's tests. Fails when
tests notice less than the wanted share of changes, or a change that is noticed by
none is not in the list of accepted survivors.

`

// atLeast is the share of mutants that tests are to notice, in percent.
const atLeast = 85

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run does what the command line says. The report goes to stdout, progress to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, packages, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	var reports []mutate.Report
	for _, pkg := range packages {
		c.Package = pkg
		c.Done = progress(stderr, pkg)
		report, err := mutate.Run(ctx, c)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	return tell(stdout, reports)
}

// parse reads the command line and the list of accepted survivors.
func parse(args []string, stderr io.Writer) (c mutate.Config, packages []string, err error) {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.IntVar(&c.Count, "n", 150, "how many `mutants` of each package, 0 for all")
	flags.Uint64Var(&c.Seed, "seed", 1, "`number` that the choice of mutants depends on")
	flags.IntVar(&c.Workers, "p", 2, "how many `mutants` are tested at a time")
	flags.Func("only", "`REGEXP` that a mutant's FOLDER/FILE FUNCTION OPERATOR: BEFORE → AFTER must match", func(s string) (err error) {
		c.Only, err = regexp.Compile(s)
		return err
	})
	flags.Func("also", "`PACKAGE[:REGEXP]` whose tests, or those of that name, may notice changes too; may be given again", func(s string) error {
		pkg, name, _ := strings.Cut(s, ":")
		c.Also = append(c.Also, mutate.Tests{Package: pkg, Run: name})
		return nil
	})
	accepted := flags.String("accepted", "scripts/mutate/accepted.txt", "`file` with the accepted survivors")
	if err := flags.Parse(args); err != nil {
		return c, nil, err
	}
	if flags.NArg() == 0 || c.Workers < 1 {
		flags.Usage()
		return c, nil, errors.New("name a package, and at least one mutant at a time")
	}
	file, err := os.Open(*accepted)
	if err != nil {
		return c, nil, err
	}
	defer file.Close()
	if c.Accepted, err = mutate.ReadAccepted(file); err != nil {
		err = fmt.Errorf("%s: %w", *accepted, err)
	}
	return c, flags.Args(), err
}

// progress tells each mutant's fate on one line, and of survivors the change.
func progress(w io.Writer, pkg string) func(mutate.Result) {
	n := 0
	return func(r mutate.Result) {
		n++
		fmt.Fprintf(w, "%s %d: %s %s:%d\n", pkg, n, r.Fate, r.File, r.Line)
		if r.Fate == mutate.Survived {
			fmt.Fprintf(w, "\t- %s\n\t+ %s\n", r.Before, r.After)
		}
	}
}

// tell writes the survivors and the table. The error says what a package lacks.
func tell(w io.Writer, reports []mutate.Report) error {
	for _, r := range reports {
		for _, s := range r.Survivors() {
			entry := mutate.Accepted{Key: s.Key, Reason: cmp.Or(s.Reason, "NOT EXPLAINED")}
			fmt.Fprintf(w, "survived: %s/%s:%d\n%s\n", s.Package, s.File, s.Line, entry)
		}
		for _, a := range r.Stale {
			fmt.Fprintf(w, "stale, as no mutant like this survives:\n%s\n", a)
		}
	}
	var wrong []string
	fmt.Fprintf(w, "%-24s %8s %8s %8s %10s %12s %8s\n", "package", "mutants", "killed", "percent", "survived", "unexplained", "stale")
	for _, r := range reports {
		if !row(w, r) {
			wrong = append(wrong, r.Folder)
		}
	}
	if wrong != nil {
		return fmt.Errorf("%s: at least %d percent are to be killed, each survivor explained, and no entry stale", strings.Join(wrong, ", "), atLeast)
	}
	return nil
}

// row writes a package's row of the table and reports whether it is as it should be.
func row(w io.Writer, r mutate.Report) bool {
	survived, unexplained := 0, 0
	for _, s := range r.Survivors() {
		survived++
		if s.Reason == "" {
			unexplained++
		}
	}
	all := len(r.Results)
	killed := all - survived
	fmt.Fprintf(w, "%-24s %8d %8d %8.1f %10d %12d %8d\n", r.Folder, all, killed,
		100*float64(killed)/float64(max(1, all)), survived, unexplained, len(r.Stale))
	return killed*100 >= atLeast*all && unexplained+len(r.Stale) == 0
}
