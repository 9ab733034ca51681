package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/via"
)

// viaCommand returns the command that an editor starts instead of an agent that runs elsewhere.
func viaCommand() subcommand {
	c := subcommand{
		Command: &cobra.Command{
			Use: "via [flags] -- COMMAND [ARG]...", Args: needsCommand,
			Short: "Serve an agent that runs on another machine, in a container or in WSL",
			Long: "It runs COMMAND, such as ssh HOST droid-acp or docker exec -i CONTAINER droid-acp, and passes ACP's messages on between it and the editor. " +
				"Paths and file URIs become those of the other side wherever ACP's types have them, never in texts. Without --map both sides have the same paths, " +
				"and the far side gets files of the editor's below the directories of its sessions alone. " +
				"COMMAND is started as it stands, without a shell.\n\n" +
				"Exit codes: 0 the editor has gone, 1 the far side was not reached or has ended, 2 wrong usage.",
		},
		reads: []string{flags.LogFile, flags.LogLevel},
		own: []flags.Setting{
			{Name: "map", Kind: flags.Texts, Value: "LOCAL=REMOTE", Does: "a directory of this machine and the one that it is at the far side; the longest one counts, and what is in none is refused"},
			{Name: "copy", Kind: flags.Switch, Does: "put this program at the far side first, where COMMAND starts it (a path that ends in /droid-acp), unless it is there; it needs mkdir, split, chmod, mv and sha256sum there"},
			{Name: "binary", Kind: flags.File, Value: "FILE", Unset: "this program", Does: "the droid-acp that --copy puts there, where the far side is another system"},
			{Name: "far-terminals", Kind: flags.Switch, Does: "let the far side run commands on this machine, in terminals of the editor: only if you would let it log in here"},
		},
		run: runVia,
	}
	c.Flags().SetInterspersed(false) // flags after COMMAND are its own
	return c
}

func needsCommand(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("via needs the command that runs the agent, such as ssh HOST droid-acp")
	}
	return nil
}

func runVia(c *invocation) int {
	home, _ := os.UserHomeDir() // without one a "~" is not a path
	maps, err := via.ReadMaps(c.values.Strings("map"), home)
	if err != nil {
		return c.wrong(err)
	}
	binary, err := c.copied()
	if err != nil {
		return c.wrong(err)
	}
	return c.logged(func(log *zap.Logger) int { return c.via(log, maps, binary) })
}

// via passes messages on. It first copies the program binary to the far side, "" for none.
func (c *invocation) via(log *zap.Logger, maps via.Maps, binary string) int {
	limitMemory()
	runtime.GOMAXPROCS(1) // it only copies lines; waking other processors for that costs half as much again
	words := newLogWriter(c.stderr, func(n int) []byte {
		return fmt.Appendf(nil, "droid-acp via: %d pieces of what the far side wrote to stderr were lost here, because nobody read them in time\n", n)
	})
	relay := via.New(via.Options{
		Command: c.args, Maps: maps, In: c.stdin, Out: c.stdout, Stderr: words, Agent: thisAgent(), Copy: binary, FarTerminals: c.values.Bool("far-terminals"), Keeps: keepsFar(c.args), Interactive: onTerminal(c.stdin), Version: version(), Log: log,
		AdaptError: func(client protocol.ClientCapabilities, method string, e *jsonrpc.Error) *jsonrpc.Error {
			return acperr.For(client, method == "session/prompt", e)
		},
	})
	c.leaving.onForce(relay.Kill)
	err := relay.Run(c.leaving.ctx)
	words.close()
	ended, is := errors.AsType[*via.Failure](err)
	if err == nil || is && ended.Code == 0 && onTerminal(c.stdin) { // a login, run by hand
		return exitOK
	}
	return c.failed(err)
}

// keepsFar reports whether a command starts an agent with --keep, also where that is part of a shell's command.
func keepsFar(command []string) bool {
	return slices.ContainsFunc(command, func(arg string) bool {
		return slices.ContainsFunc(strings.Fields(arg), func(word string) bool { return word == "--keep" || word == "--keep=true" })
	})
}

// copied returns the droid-acp program that is to be copied to the far side, "" for none.
func (c *invocation) copied() (string, error) {
	binary := c.values.String("binary")
	switch {
	case c.values.Bool("copy") && binary == "":
		self, err := os.Executable()
		return self, errors.Join(err, via.CheckCopy(thisAgent().Name, c.args))
	case c.values.Bool("copy"):
		return binary, via.CheckCopy(thisAgent().Name, c.args)
	case binary != "":
		return "", errors.New("--binary is what --copy copies, and --copy is not there")
	}
	return "", nil
}
