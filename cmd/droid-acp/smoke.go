package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/adapter"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/cli/smoke"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

const defaultPrompt = "Say hello, and tell in one sentence which directory you work in."

// smokeCommand returns the command that runs prompts without an editor.
func smokeCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "smoke [flags] [--] [PROMPT]", Args: cobra.ArbitraryArgs,
			Short: "Run prompts without an editor, show the conversation and check the answers",
			Long: "It opens a session, sends the prompts one after the other, and ends with a summary. A turn that fails ends the run; an expectation that is not met does not. " +
				"In a file of prompts, a line --- stands between two, and the lines at a prompt's end that begin with expect: or expect-file: are its expectations. " +
				"A PROMPT with words that begin with a dash stands behind --." + `

Exit codes:
  0  all turns ended normally (end_turn), with what was expected
  1  a turn ended otherwise, droid failed, or a result could not be written
  2  wrong usage; nothing was run
  3  droid is not installed
  4  droid is not logged in
  5  the call to the model failed
  6  an expectation was not met
  7  the time was up`,
		},
		reads: []string{flags.Droid, flags.Model, flags.Mode, flags.Effort, flags.Trust, flags.Shell, flags.LogFile, flags.LogLevel, flags.Trace},
		own: []flags.Setting{
			{Name: "demo", Kind: flags.Switch, Does: "talk to a scripted droid that is built in; needs no droid and no login"},
			{Name: "permissions", Kind: flags.Choice, Value: "ANSWER", Allowed: []string{string(smoke.Refuse), string(smoke.Allow)}, Default: string(smoke.Refuse),
				Does: "how permission requests are answered"},
			{Name: "prompts", Kind: flags.File, Value: "FILE", Unset: "the PROMPT of the command line, or a greeting", Does: "a file of prompts, with a line --- between two"},
			{Name: "expect", Kind: flags.Texts, Value: "TEXT", Does: "the answer to the last prompt must contain this"},
			{Name: "expect-file", Kind: flags.Texts, Value: "PATH[=TEXT]",
				Does: "after the last prompt there must be this file below the session's directory, and TEXT in it"},
			{Name: "schema", Kind: flags.File, Value: "FILE", Does: "the answer to the last prompt must have the form of this JSON schema, which an old droid cannot do"},
			{Name: "cwd", Kind: flags.Dir, Value: "DIR", Unset: "the current directory", Does: "the session's directory"},
			{Name: "timeout", Kind: flags.Duration, Value: "TIME", Default: "5m", Least: 1, Form: "a time longer than zero, such as 90s or 5m", Does: "give up after this time, which is for all prompts together"},
			{Name: "json", Kind: flags.Switch, Does: "print the protocol lines instead of the readable conversation and the summary"},
			{Name: "junit", Kind: flags.File, Value: "FILE", Does: "write the result as JUnit's XML, a test case for each prompt"},
			{Name: "result", Kind: flags.File, Value: "FILE", Does: "write the result as JSON; docs/ci.md describes its fields"},
		},
		exclude: [][2]string{{"demo", flags.Droid}, {"demo", flags.Model}, {"demo", flags.Effort}, {"demo", "schema"}},
		strict:  true,
		run:     runSmoke,
	}
}

// runSmoke runs prompts with the agent in this process.
func runSmoke(c *invocation) int {
	options, err := smokeOptions(c)
	if err != nil {
		return c.wrong(err)
	}
	return c.logged(func(log *zap.Logger) int {
		return c.traced(log, func(t tracing) int { return c.smoke(log, t, options) })
	})
}

func (c *invocation) smoke(log *zap.Logger, traced tracing, options smoke.Options) int {

	timeout := c.values.Duration("timeout")
	ctx, cancel := context.WithTimeoutCause(c.leaving.ctx, timeout, &smoke.TimeoutError{After: timeout})
	defer cancel()
	trusted, sessions := trustStore(c.values.String(flags.Trust)), sessionStore(os.Getenv, log)
	if c.values.Bool("demo") {
		trusted, sessions = nil, nil // the scripted droid runs nothing of a project, and stores nothing
	}
	config := adapter.Config{Log: log}
	config.Start = func(command droid.Command) (*droid.Client, error) {
		found, err := c.locateDroid()
		if err != nil {
			return nil, err
		}
		command.Path, command.Args, command.Env = found.Path, found.Args, smoke.Environment(os.Environ())
		traced.droid(&command)
		return droid.Start(command, log)
	}
	config.Locate = func() (string, error) { command, err := c.locateDroid(); return command.Path, err }
	config.Release, config.Version = releaseOf, version()
	config.Defaults, config.Trust, config.Store, config.Dir = c.defaults(), trusted, sessions, options.CWD
	config.Shell = c.values.Bool(flags.Shell)
	agent := adapter.New(config)
	c.leaving.onForce(agent.Kill)
	options.Log = log
	out := &errWriter{to: c.stdout}
	result := converse(ctx, agent, traced, out, options)
	if result.Outcome != smoke.Passed {
		fmt.Fprintf(c.stderr, "droid-acp smoke: %s: %s\n", result.Outcome, result.Reason)
	}
	code := writeResult(c, result)
	if notShown := c.printed(out.err); code == exitOK {
		return notShown
	}
	return code
}

// writeResult writes the requested files, and returns the exit code: that of the result, unless it passed and a file was not written.
func writeResult(c *invocation, result *smoke.Result) int {
	code := result.ExitCode
	for _, file := range []struct {
		path   string
		render func() ([]byte, error)
	}{{c.values.String("junit"), result.JUnit}, {c.values.String("result"), result.JSON}} {
		if file.path == "" {
			continue
		}
		text, err := file.render()
		if err == nil {
			err = files.Write(file.path, text, 0o666)
		}
		if err != nil {
			fmt.Fprintf(c.stderr, "droid-acp smoke: %s was not written: %v\n", file.path, err)
			code = cmp.Or(code, exitFailed)
		}
	}
	return code
}

// converse runs the agent and the client on two pipes until the prompts have ended, and returns when the agent and its droid have, too.
func converse(ctx context.Context, agent *adapter.Agent, traced tracing, stdout io.Writer, o smoke.Options) (result *smoke.Result) {
	_ = connectPipes(func(in io.Reader, out io.Writer) error { // the result contains the error
		tracedIn, tracedOut := traced.editor(in, out)
		return agent.Serve(ctx, tracedIn, tracedOut)
	},
		func(in io.Reader, out io.Writer) { result = smoke.Run(ctx, in, out, stdout, o) })
	return result
}

func smokeOptions(c *invocation) (o smoke.Options, err error) {
	v := c.values
	o = smoke.Options{Mode: v.String(flags.Mode), Model: v.String(flags.Model), Effort: v.String(flags.Effort), Allow: smoke.Policy(v.String("permissions")), JSON: v.Bool("json"), Colour: colours(c.stdout)}
	if v.Bool("demo") && o.Mode == "" {
		o.Mode = string(stream.ModeSpec) // so that the demo shows a plan to approve
	}
	if o.CWD, err = directory(v.String("cwd")); err != nil {
		return o, fmt.Errorf("invalid value %q for --cwd: %w", v.String("cwd"), err)
	}
	for _, name := range []string{"junit", "result"} {
		if path := v.String(name); path != "" {
			if err := files.CheckTarget(path); err != nil {
				return o, fmt.Errorf("invalid value %q for --%s: %w", path, name, err)
			}
		}
	}
	written := []string{"junit", "result", flags.LogFile, flags.Trace}
	for i, name := range written {
		for _, other := range append(written[i+1:len(written):len(written)], "prompts", "schema") {
			if sameFile(v.String(name), v.String(other)) {
				return o, fmt.Errorf("--%s and --%s name the same file", name, other)
			}
		}
	}
	o.Prompts, err = promptsOf(v, strings.Join(c.args, " "))
	return o, err
}

// sameFile reports whether two paths lead to one file, which may not exist yet.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	one, errOne := os.Stat(a)
	two, errTwo := os.Stat(b)
	if errOne == nil && errTwo == nil {
		return os.SameFile(one, two)
	}
	one, errOne = os.Stat(filepath.Dir(a))
	two, errTwo = os.Stat(filepath.Dir(b))
	return errOne == nil && errTwo == nil && os.SameFile(one, two) && filepath.Base(a) == filepath.Base(b)
}

// directory returns the absolute path of a directory, which must exist.
func directory(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is no directory", path)
	}
	return path, nil
}

// maxPrompts limits the size of a file of prompts and of a schema, in bytes.
const maxPrompts = 10 << 20

// promptsOf returns the prompts in the file, or the one on the command line. The last one also has the expectations of the flags.
func promptsOf(v flags.Values, text string) (prompts []smoke.Prompt, err error) {
	path := v.String("prompts")
	switch {
	case path != "" && text != "":
		return nil, errors.New("--prompts and a PROMPT exclude each other")
	case path != "":
		if prompts, err = readPrompts(path); err != nil {
			return nil, fmt.Errorf("invalid value %q for --prompts: %w", path, err)
		}
	case text == "":
		text = defaultPrompt
		fallthrough
	default:
		prompts = []smoke.Prompt{{Text: text}}
	}
	last := &prompts[len(prompts)-1]
	for _, flag := range []struct {
		name string
		read func(string) (smoke.Expectation, error)
	}{{"expect", smoke.Answer}, {"expect-file", smoke.File}} {
		for _, value := range v.Strings(flag.name) {
			e, err := flag.read(value)
			if err != nil {
				return nil, fmt.Errorf("invalid value %q for --%s: %w", value, flag.name, err)
			}
			last.Expect = append(last.Expect, e)
		}
	}
	if path := v.String("schema"); path != "" {
		text, err := readBounded(path)
		if err == nil {
			err = last.WithSchema(text)
		}
		if err != nil {
			return nil, fmt.Errorf("invalid value %q for --schema: %w", path, err)
		}
	}
	return prompts, nil
}

func readPrompts(path string) ([]smoke.Prompt, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	return smoke.ParsePrompts(string(text))
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPrompts+1))
	if err == nil && len(text) > maxPrompts {
		err = errors.New("it is larger than 10 MiB")
	}
	return text, err
}

// locateDroid returns the command that runs droid: the real one, or this program as the scripted one.
func (c *invocation) locateDroid() (droid.Command, error) {
	if !c.values.Bool("demo") {
		path, err := c.findDroid()
		return droid.Command{Path: path}, err
	}
	self, err := os.Executable()
	return droid.Command{Path: self, Args: []string{demoCommand}}, err
}
