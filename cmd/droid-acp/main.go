// Command droid-acp is an ACP agent that puts Factory's droid CLI into editors:
// it serves the Agent Client Protocol on stdin and stdout and runs droid as a
// child process.
//
// stdout belongs to the protocol. Logs, usage errors and everything else for
// people go to stderr; only --help, --version and the commands login and smoke,
// which do not serve, write to stdout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"droid-acp/internal/adapter"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/fakedroid"
	"droid-acp/internal/hooks"
	"droid-acp/internal/options"
	"droid-acp/internal/visible"
)

const usage = `Usage:
  droid-acp [flags]                  serve ACP on stdin and stdout (what an editor starts)
  droid-acp login [flags]            have droid log in to Factory (also droid-acp --login)
  droid-acp smoke [flags] [PROMPT]   run one prompt without an editor and show the conversation

Flags of all, of which login heeds --droid and the log's:
  --droid PATH       the droid executable
                     (default: $DROID_ACP_DROID, then droid in $PATH, then ~/.local/bin/droid)
  --park-after D     end the droid of a session that rests this long, for example 30m; the
                     next prompt starts it again (default 15m, 0 for never)
  --model ID         the model that new sessions start with (default: $DROID_ACP_MODEL, then droid's own)
  --mode MODE        the mode that they start in: normal, spec, auto-low, auto-medium, auto-high
                     (default: $DROID_ACP_MODE, then droid's own)
  --effort EFFORT    their reasoning effort, for example low or high (default: $DROID_ACP_EFFORT,
                     then droid's own)
  --follow-up WHAT   queue (default) or steer: what becomes of a prompt sent while one runs
                     ($DROID_ACP_FOLLOW_UP)
  --files WAY        how droid reads and edits files: editor, that is through the editor's own buffers,
                     or disk (default: editor where the editor offers it and does it well; $DROID_ACP_FILES)
  --shell            let prompts run shell commands as you, without asking: !COMMAND and /shell COMMAND;
                     droid is told with the next prompt (default: off, such prompts go to droid)
  --log-file FILE    write a structured log (JSON lines) to FILE
  --log-level LEVEL  debug, info, warn or error (default: warn on stderr, info in the file)
  --version          print the version
  --help             print this text

Flags of smoke:
  --demo             talk to a scripted droid that is built in; needs no droid and no login
  --permissions P    refuse (default) or allow: how permission requests are answered
  --cwd DIR          the session's directory (default: the current one)
  --timeout D        give up after this time, for example 90s or 5m (default 5m)
  --json             print the protocol lines instead of the readable conversation

smoke exits with 0 when the turn ends normally (end_turn), 1 when it does not, 2 on wrong usage.
`

// Version is set by the linker for releases; it overrides the build info.
var Version string

// demoCommand makes this program the scripted droid of "smoke --demo".
const demoCommand = "demo-droid"

// demoPace is the time between two words of the scripted droid, so that one
// sees it stream.
const demoPace = 15 * time.Millisecond

// Exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
)

func main() {
	// droid starts this once or twice a tool call and waits for it, so nothing is
	// prepared that it does not need.
	if len(os.Args) > 1 && os.Args[1] == stream.OwnHook {
		signal.Ignore(syscall.SIGPIPE) // it ends well, also when droid is gone
		hooks.Run(os.Args[2:], os.Stdin, os.Stdout)
		return
	}
	// A write to an editor that is gone becomes an error, not a death that would
	// leave droid behind. The signal is caught rather than ignored: commands that
	// we start would inherit that, and then write into broken pipes for ever.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ensureHome()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	stderr = visible.Writer(stderr) // it repeats what others wrote
	if len(args) > 0 && args[0] == demoCommand {
		return fakedroid.ExitCode(fakedroid.Run(stdin, stdout, fakedroid.Demo(),
			fakedroid.WithPace(demoPace), fakedroid.WithStderr(stderr)))
	}
	leaving, stop := awaitSignals()
	defer stop()
	if file, ok := stdout.(*os.File); ok {
		onHangup(file, leaving.begin)
	}
	return leaving.orHurry(func() int {
		if len(args) > 0 && args[0] == "smoke" {
			return runSmoke(leaving, args[1:], stdout, stderr)
		}
		if code, done := loginOf(leaving, args, stdout, stderr); done {
			return code
		}
		return runServe(leaving, args, stdin, stdout, stderr)
	})
}

func runServe(leaving *leaving, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var common commonFlags
	flags := common.flagSet("droid-acp")
	if code, done := parse(flags, &common, args, stdout, stderr); done {
		return code
	}
	if flags.NArg() > 0 {
		return usageError(stderr, fmt.Errorf("unknown command %q", flags.Arg(0)))
	}
	log, closeLog, err := common.logger(stderr)
	if err != nil {
		return usageError(stderr, err)
	}
	defer closeLog()
	limitMemory()
	dir, err := os.Getwd()
	if err != nil {
		dir = os.TempDir() // the directory of the spare process alone; sessions name their own
	}
	agent := adapter.New(adapter.Config{
		Locate: func() (string, error) { return droid.Find(common.droid) },
		Start: func(command droid.Command) (*droid.Client, error) {
			if err := needHome(); err != nil {
				return nil, err
			}
			path, err := droid.Find(common.droid)
			if err != nil {
				return nil, err
			}
			command.Path = path
			return droid.Start(command, log)
		},
		Login:        common.startLogin(log),
		LoginCommand: common.loginCommand(),
		Store:        sessionStore(log),
		Defaults:     common.defaults(),
		ParkAfter:    common.parkAfter,
		Files:        adapter.FilesWay(common.files),
		Journal:      journalDir(),
		Shell:        common.shell,
		Dir:          dir,
		Version:      version(),
		Log:          log,
	})
	leaving.onHurry(agent.Kill)
	if err := agent.Serve(leaving.ctx, stdin, stdout); err != nil && !errors.Is(err, context.Canceled) {
		return exitFailed
	}
	return exitOK
}

// commonFlags are the flags of every command.
type commonFlags struct {
	droid     string
	parkAfter time.Duration
	model     string
	mode      string
	effort    string
	followUp  string
	files     string
	shell     bool
	logFile   string
	logLevel  string
	version   bool
}

func (c *commonFlags) flagSet(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed by usageError
	flags.StringVar(&c.droid, "droid", "", "")
	flags.DurationVar(&c.parkAfter, "park-after", 15*time.Minute, "")
	flags.StringVar(&c.model, "model", os.Getenv("DROID_ACP_MODEL"), "")
	flags.StringVar(&c.mode, "mode", os.Getenv("DROID_ACP_MODE"), "")
	flags.StringVar(&c.effort, "effort", os.Getenv("DROID_ACP_EFFORT"), "")
	flags.StringVar(&c.followUp, "follow-up", os.Getenv("DROID_ACP_FOLLOW_UP"), "")
	flags.StringVar(&c.files, "files", os.Getenv("DROID_ACP_FILES"), "")
	flags.BoolVar(&c.shell, "shell", false, "")
	flags.StringVar(&c.logFile, "log-file", "", "")
	flags.StringVar(&c.logLevel, "log-level", "", "")
	flags.BoolVar(&c.version, "version", false, "")
	return flags
}

// defaults are what new sessions start with.
func (c *commonFlags) defaults() options.Defaults {
	return options.Defaults{Mode: stream.Mode(c.mode), Model: c.model, Effort: c.effort, FollowUp: c.followUp}
}

// parse reads the flags; done says that there is nothing left to run.
func parse(flags *flag.FlagSet, common *commonFlags, args []string, stdout, stderr io.Writer) (code int, done bool) {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return exitOK, true
	case err != nil:
		return usageError(stderr, err), true
	case common.version:
		fmt.Fprintln(stdout, "droid-acp "+version())
		return exitOK, true
	case common.parkAfter < 0:
		return usageError(stderr, errors.New("--park-after must not be negative")), true
	case common.mode != "" && !stream.Mode(common.mode).Valid():
		return usageError(stderr, fmt.Errorf("invalid value %q for flag -mode: normal, spec, auto-low, auto-medium or auto-high", common.mode)), true
	case common.effort != "" && !stream.ValidEffort(common.effort):
		return usageError(stderr, fmt.Errorf("invalid value %q for flag -effort: %s", common.effort, strings.Join(stream.Efforts(), ", "))), true
	case common.followUp != "" && common.followUp != "queue" && common.followUp != "steer":
		return usageError(stderr, fmt.Errorf("invalid value %q for flag -follow-up: queue or steer", common.followUp)), true
	case common.files != "" && common.files != string(adapter.FilesEditor) && common.files != string(adapter.FilesDisk):
		return usageError(stderr, fmt.Errorf("invalid value %q for flag -files: editor or disk", common.files)), true
	}
	return exitOK, false
}

func usageError(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "droid-acp: %v\nRun `droid-acp --help` for the usage.\n", err)
	return exitUsage
}

// version is the one of the release, or of the module when built from source.
func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
}
