package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/visible"
)

// loginName is the name of the login command. Clients append it to the arguments of the agent, or replace them by it (ACP, authentication
// methods; its registry).
const loginName = "login"

// loginSetting returns the flag that turns serving into the login.
func loginSetting() flags.Setting {
	return flags.Setting{Name: loginName, Kind: flags.Switch, Hidden: true, Does: "log in, as the command login does"}
}

// loginCommand returns the command that logs in.
func loginCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: loginName, Args: cobra.NoArgs, Short: "Have droid log in to Factory (also droid-acp --login)",
			Long: "It passes over the flags of serving, since editors append login to these.\n\n" +
				"Exit codes: 0 droid says that it is logged in, 1 it is not, 2 wrong usage.",
		},
		reads: []string{flags.Droid, flags.LogFile, flags.LogLevel}, passesOver: true, own: []flags.Setting{loginSetting()},
		run: runLogin,
	}
}

// runLogin logs droid in, for a person in a terminal.
func runLogin(c *invocation) int {
	log, closeLog, err := c.logger(c.stderr)
	if err != nil {
		return c.wrong(err)
	}
	defer closeLog()
	shown, start := &terminal{syncWriter{to: visible.NewWriter(c.stdout)}}, c.startLogin(log)
	_, err = login.Do(c.leaving.ctx, func() (*login.Process, error) {
		process, err := start()
		if err == nil {
			shown.print("droid logs in to Factory. It opens a page in your browser; confirm the code there.\nCtrl-C ends this.")
		}
		return process, err
	}, login.Pairing, shown.listener(), log)
	if err != nil {
		fmt.Fprintln(c.stderr, "droid-acp login: "+loginFailure(err))
		return exitFailed
	}
	shown.print("droid says that it is logged in.")
	return exitOK
}

// loginFailure says why the login failed, and what to do.
func loginFailure(err error) string {
	switch {
	case diagnosis.IsStart(err):
		return diagnosis.Start(err).Error()
	case errors.Is(err, context.Canceled):
		return "ended before droid had logged in."
	}
	return strings.TrimSuffix(err.Error(), ".") + ". " + login.Remedy(login.Pairing, err)
}

// startLogin returns a function that starts the droid that logs in.
func (c *invocation) startLogin(log *zap.Logger) login.Start {
	return func() (*login.Process, error) {
		path, err := c.findDroid()
		if err != nil {
			return nil, err
		}
		return login.Command{Path: path}.Start(log)
	}
}

// clientsLogin returns the command with which a client can run this program's login in a terminal that may lack the agent's arguments and
// variables.
func (c *invocation) clientsLogin() accounts.Command {
	self, err := os.Executable()
	if err != nil {
		return accounts.Command{}
	}
	dir, _ := os.Getwd() // "" leaves a path unchanged
	return loginCommandOf(self, dir, c.values, os.Getenv)
}

// loginCommandOf returns clientsLogin for an agent that was started with these values.
func loginCommandOf(program, dir string, values flags.Values, getenv func(string) string) accounts.Command {
	command := accounts.Command{Path: program, Args: []string{loginName}}
	if given := values.String(flags.Droid); given != "" {
		if strings.ContainsRune(given, filepath.Separator) && !filepath.IsAbs(given) { // otherwise it is a name in the PATH
			given = filepath.Join(dir, given)
		}
		command.Args = append(command.Args, "--droid", given)
	}
	if named := getenv(droid.EnvDroid); named != "" {
		command.Env = map[string]string{droid.EnvDroid: named}
	}
	return command
}

// terminal shows a person droid's messages and requests.
type terminal struct{ out syncWriter }

func (t *terminal) listener() login.Listener {
	return login.Listener{
		Capabilities: json.RawMessage(`{"elicitation":{"url":{}}}`),
		Link: func(address string) {
			t.print("\nIf no page has opened, open this address:\n\n  " + address + "\n")
		},
		Tell: func(method string, params json.RawMessage) {
			if method != "elicitation/complete" && !strings.HasPrefix(method, "$/") {
				t.say(params)
			}
		},
		Ask: t.ask,
	}
}

// ask shows a request. Only opening an address can be asked of a person here.
func (t *terminal) ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	t.say(params)
	var asked struct{ Mode, URL string }
	_ = json.Unmarshal(params, &asked) // a request of another form is declined
	if method == "elicitation/create" && asked.Mode == "url" && login.IsLink(asked.URL) {
		return json.RawMessage(`{"action":"accept"}`), nil
	}
	t.print("That cannot be answered here, and droid is told so.")
	return nil, &login.Error{Code: jsonrpc.CodeMethodNotFound, Message: "a terminal cannot answer " + method}
}

func (t *terminal) say(params json.RawMessage) {
	if words := login.PlainText(params); words != "" {
		t.print("\ndroid says:\n  " + strings.ReplaceAll(words, "\n", "\n  "))
	}
}

func (t *terminal) print(text string) {
	fmt.Fprintln(&t.out, text)
}
