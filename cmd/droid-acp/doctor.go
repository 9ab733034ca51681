package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/adapter"
	"droid-acp/internal/cli/doctor"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/cli/smoke"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/stream"
)

// doctorCommand returns the command that finds out what does not work.
func doctorCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "doctor", Args: cobra.NoArgs, Short: "Look for what keeps droid from working, and say what to do",
			Long: "It starts droid without your login, opens a session in an empty directory and removes it again, and reads the settings of droid. " +
				"It asks no model, so it costs nothing.\n\n" +
				"Exit codes: 0 nothing was found that stops you, 1 something was, or the doctor was ended, 2 wrong usage.",
		},
		reads: []string{flags.Droid, flags.Model, flags.Trust, flags.LogFile, flags.LogLevel},
		own:   []flags.Setting{{Name: "json", Kind: flags.Switch, Does: "print the report as JSON"}},
		run:   runDoctor,
	}
}

func runDoctor(c *invocation) int {
	log, closeLog, err := c.logger(io.Discard) // the report says it
	if err != nil {
		return c.wrong(err)
	}
	defer closeLog()
	out := &errWriter{to: c.stdout}
	config, asJSON := c.doctorConfig(log), c.values.Bool("json")
	if !asJSON {
		config.Each = func(r doctor.Report, check doctor.Check) {
			if len(r.Checks) == 1 {
				fmt.Fprint(out, r.Head())
			}
			fmt.Fprint(out, r.Line(check))
		}
	}
	report := doctor.Run(c.leaving.ctx, config)
	text := report.Verdict()
	if asJSON {
		if text, err = report.JSON(); err != nil {
			return c.failed(err)
		}
	}
	fmt.Fprint(out, text)
	if code := c.printed(out.err); code != exitOK {
		return code
	}
	if report.Count(doctor.Failure) > 0 || c.leaving.ctx.Err() != nil {
		return exitFailed
	}
	return exitOK
}

func (c *invocation) doctorConfig(log *zap.Logger) doctor.Config {
	home, _ := os.UserHomeDir() // "" is checked
	dir, err := os.Getwd()
	if err != nil {
		dir = home
	}
	untrusted := ""
	if p := trustStore(c.values.String(flags.Trust)).Check(dir); !p.Trusted && !p.TrustedByVersion() {
		untrusted = diagnosis.Command("trust", "--yes", dir)
	}
	var given []string
	if named := c.values.String(flags.Droid); named != "" {
		given = []string{"--droid", named}
	}
	return doctor.Config{
		Trust: untrusted, Flags: given, Width: columns(c.stdout),
		Find:  c.findDroid,
		Model: c.values.String(flags.Model), Dir: dir, Home: home, Journal: stateFile("edits"), Version: version(), UnknownVariables: c.unknownVariables,
		Keep:    checkServer,
		Demo:    func(ctx context.Context) error { return demoTurn(ctx, log) },
		Started: c.leaving.onForce,
		Log:     log,
	}
}

// demoTurn plays the conversation of the built-in droid, and returns why it did not reach its end.
func demoTurn(ctx context.Context, log *zap.Logger) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	config := adapter.Config{Log: log}
	config.Start = func(command droid.Command) (*droid.Client, error) {
		command.Path, command.Args = self, []string{demoCommand, demoAtOnce}
		return droid.Start(command, log)
	}
	config.Locate = func() (string, error) { return self, nil }
	config.Version = version()
	config.Dir = os.TempDir()
	result := converse(ctx, adapter.New(config), tracing{}, io.Discard, smoke.Options{
		Prompts: []smoke.Prompt{{Text: "Play."}}, CWD: os.TempDir(), Mode: string(stream.ModeSpec), Allow: smoke.Refuse,
	})
	if result.Outcome != smoke.Passed {
		return errors.New(result.Reason)
	}
	return nil
}
