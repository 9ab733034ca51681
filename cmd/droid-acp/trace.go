package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/cli/trace"
	"droid-acp/internal/sys/files"
)

// traceCommand returns the command that shows what --trace has recorded.
func traceCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "trace [flags] FILE", Args: cobra.ExactArgs(1), Short: "Show what was recorded with --trace",
			Long: "It prints each message with its number and time, below a message of droid what droid-acp made of it (=) and, behind an arrow, which messages the editor was sent for it, " +
				"and below these which messages of droid they came from. FILE" + files.OlderSuffix + " is read before FILE, if it is there. " +
				"What droid-acp made of a message is worked out again, by this version.\n\n" +
				"Exit codes: 0 it was shown, 1 the trace could not be read or something not be written, 2 wrong usage.",
			Example: "  droid-acp --trace /tmp/trace   (in place of droid-acp in the editor's configuration)\n  droid-acp trace /tmp/trace",
		},
		own: []flags.Setting{
			{Name: "html", Kind: flags.File, Value: "PAGE", Does: "write it as a page instead, with a time line of who waited for whom"},
			{Name: "fixture", Kind: flags.Text, Value: "NAME", Does: "write the messages of one droid to NAME.txtar instead, for the tests of droid-acp"},
			{Name: "pid", Kind: flags.Text, Value: "PID", Unset: "that with the most prompts", Does: "the process id of the droid for --fixture"},
		},
		exclude: [][2]string{{"html", "fixture"}},
		run:     runTrace,
	}
}

func runTrace(c *invocation) int {
	path := c.args[0]
	recorded, err := readTrace(path)
	if err != nil {
		return c.failed(fmt.Errorf("%s cannot be shown: %w", path, err))
	}
	page, fixture := c.values.String("html"), c.values.String("fixture")
	switch {
	case page != "":
		return c.writeNew(page, trace.New(recorded).Page)
	case fixture != "":
		return c.writeNew(strings.TrimSuffix(fixture, ".txtar")+".txtar", func(w io.Writer) error {
			home, _ := os.UserHomeDir() // "" is not replaced
			return recorded.Fixture(w, c.values.String("pid"), home)
		})
	}
	return c.printed(trace.New(recorded).Text(c.stdout))
}

// readTrace reads the files of a trace.
func readTrace(path string) (*trace.Trace, error) {
	var contents [][]byte
	older, err := files.Read(path+files.OlderSuffix, 2*trace.MaxFile)
	switch {
	case err == nil:
		contents = append(contents, older)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	content, err := files.Read(path, 2*trace.MaxFile)
	if err != nil {
		return nil, err
	}
	return trace.Read(append(contents, content)...)
}

// writeNew writes a file that is not there yet, readable by the user alone.
func (c *invocation) writeNew(path string, write func(io.Writer) error) int {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return c.failed(err)
	}
	if _, err := os.Lstat(path); err == nil {
		return c.failed(fmt.Errorf("%s is there already; name another file", path))
	}
	if err := files.Write(path, content.Bytes(), 0o600); err != nil {
		return c.failed(fmt.Errorf("%s was not written: %w", path, err))
	}
	_, err := fmt.Fprintln(c.stdout, path)
	return c.printed(err)
}
