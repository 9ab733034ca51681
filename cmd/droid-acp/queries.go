package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/sys/files"
)

// errQueryAgent is the error of starting droid in an agent that opens no session.
var errQueryAgent = errors.New("no session is opened here")

// serveQueries implements serve.Options.ServeQueries: an agent in this process that starts no droid. It answers about itself and the stored
// sessions as an agent started with h would.
func serveQueries(h serve.AttachParams, in io.Reader, out io.Writer) error {
	values, getenv, err := settingsOf(h)
	if err != nil {
		return err
	}
	config := adapter.Config{
		LoginCommand: loginCommandOf(h.Program, h.Directory, values, getenv),
		ClientShows:  values.String(flags.ClientShows),
		Log:          zap.NewNop(),
	}
	config.Start = func(droid.Command) (*droid.Client, error) { return nil, errQueryAgent }
	config.Store = sessionStore(getenv, zap.NewNop())
	config.Spare = launch.SpareNone
	config.Files = session.FilesDisk
	config.Version = version()
	return adapter.New(config).Serve(context.Background(), in, out)
}

const (
	// threadTime limits the wait for a disk; reading the files of a large store on a slow network drive takes seconds.
	threadTime = 30 * time.Second
	// maxThreadReads is the maximum number of concurrent reads.
	maxThreadReads = 64
)

// threads returns a function for serve.Options.Thread.
func threads() func(h serve.AttachParams, id string) ([]string, error) {
	reads := files.NewCallLimiter(maxThreadReads, threadTime)
	return func(h serve.AttachParams, id string) ([]string, error) {
		_, getenv, err := settingsOf(h)
		if err != nil {
			return nil, err
		}
		stored := sessionStore(getenv, zap.NewNop())
		return store.NewThreads(func() *store.Store { return stored }, reads, zap.NewNop()).IDs(context.Background(), id)
	}
}

// settingsOf returns the settings of an agent that is started with h, and its environment.
func settingsOf(h serve.AttachParams) (values flags.Values, getenv func(string) string, err error) {
	getenv = func(name string) string {
		i := slices.IndexFunc(h.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i < 0 {
			return ""
		}
		return h.Env[i][len(name)+1:]
	}
	if h.Env == nil {
		getenv = os.Getenv
	}
	values = flags.New(flags.Common())
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, row := range flags.Common() {
		values.AddFlag(set, row)
	}
	if err := set.Parse(h.Args); err != nil {
		return nil, nil, err
	}
	return values, getenv, values.ReadEnvironment(agentNames(), getenv)
}

// trustOrder are the values of --trust, the strictest first.
var trustOrder = []string{"never", "ask", "always"}

// compare implements serve.Options.Compare.
func compare(has, joiner serve.AttachParams) (stricter string, settings []string) {
	here, _, err := settingsOf(has)
	if err != nil {
		return "", nil // that agent runs, so they were valid
	}
	there, _, err := settingsOf(joiner)
	if err != nil {
		return "settings that can be read (" + err.Error() + ")", nil
	}
	trusts := func(v flags.Values) int { return slices.Index(trustOrder, v.String(flags.Trust)) }
	switch {
	case trusts(there) < trusts(here):
		return "`--trust " + there.String(flags.Trust) + "`", nil
	case here.Bool(flags.Shell) && !there.Bool(flags.Shell):
		return "`--shell=false`", nil
	}
	for _, name := range agentNames() {
		byFlag := !strings.HasPrefix(here.Source(name), "$") && !strings.HasPrefix(there.Source(name), "$") // otherwise the variable differs
		if byFlag && here.String(name) != there.String(name) {
			settings = append(settings, "`--"+name+"`")
		}
	}
	return "", settings
}
