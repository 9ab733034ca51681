package droid

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/jsonrpc/flight"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// envAutoUpdate prevents droid from replacing its own program while sessions run.
const envAutoUpdate = "FACTORY_DROID_AUTO_UPDATE_ENABLED"

// flagSystemPrompt names a file whose text droid appends to its system prompt. droid reads it once, at its start (0.99 to 0.225).
const flagSystemPrompt = "--append-system-prompt-file"

// Command describes how to run droid.
type Command struct {
	Path string   // of the program, see Find
	Args []string // placed before "exec"
	Dir  string   // working directory, "" for the current one; see Alone
	Env  []string // nil for the current one
	// Runtime makes the process accept MCP servers and hooks if possible, see Client.SetRuntime.
	Runtime bool
	// Project is the current content of the project's files; nil if it was not read because the user trusts all projects. The process is
	// started with it.
	Project *projectconfig.Layer
	// Excluded is the part of a project that the user did not allow, which the process must exclude; nil if the user allowed everything. An
	// empty one guards the process against files that appear later.
	Excluded *projectconfig.Layer
	// Alone starts the process in an empty directory instead of Dir, without any MCP servers and hooks until Client.SetRuntime sets them.
	// It reads no project files before its session is opened; before 0.215 it then lacks the project's subagents. A droid that must exclude
	// something, and one without a session, is started so. Start fails with an ExcludeError if that is impossible.
	Alone bool
	// Scratch makes the process store its files, including sessions, in a temporary directory that is removed with it. Such a
	// process has the user's settings and no login.
	Scratch bool
	// TrustsAll means that the user trusts every project: droid applies files that appear while it runs, and git is unrestricted. Otherwise
	// droid watches no files (see withoutWatching), and in droid and everything it runs, git runs no program that a repository configures
	// for watching files or checking signatures, uses no bare repository that is not named explicitly, and its status runs no hook.
	TrustsAll bool
	// CustomModels are models in addition to the user's own. A process gets them at its start, and only so: Start fails if that is impossible.
	// New sessions start with the first one unless they name another.
	CustomModels []CustomModel
	// Flight records the messages of the process; nil for none.
	Flight *flight.Recorder
	// SystemPrompt is added to droid's system prompt, "" for nothing. It applies to all sessions of the process, new and loaded, also after
	// a compaction; droid does not store it (0.99 to 0.225).
	SystemPrompt string
	// Trace, if not nil, is called with the process's ID, its stdin and its stdout, and returns what is used instead of these two.
	Trace func(pid int, stdin io.WriteCloser, stdout io.Reader) (io.WriteCloser, io.Reader)
}

// arguments returns the command line after the program. The flags --model, --auto and --use-spec have no effect in this mode (0.99 to
// 0.225, quirk 15), so all settings go into Initialize.
func (c Command) arguments() []string {
	args := append([]string(nil), c.Args...)
	args = append(args, "exec", "--input-format", "stream-jsonrpc", "--output-format", "stream-jsonrpc")
	if c.Dir != "" && !c.Alone {
		args = append(args, "--cwd", c.Dir)
	}
	return args
}

func (c Command) environment() []string {
	return subprocess.WithDefaultEnv(c.Env, envAutoUpdate, "false")
}

// Start runs droid and returns a client of it. droid runs until Close, Kill or its own exit, or until this process dies. log may be nil.
func Start(cmd Command, log *zap.Logger) (*Client, error) {
	return start(cmd, log, defaultBounds)
}

func start(cmd Command, log *zap.Logger, b timeouts) (*Client, error) {
	log = cmp.Or(log, zap.NewNop())
	p, err := startProcess(cmd, log)
	if err != nil {
		return nil, fmt.Errorf("starting droid %s: %w", cmd.Path, err)
	}
	var settings func(data []byte) error
	if p.settings != nil {
		settings = p.settings.Replace
	}
	stdin, stdout := io.WriteCloser(p.Stdin), io.Reader(p.Stdout)
	if cmd.Trace != nil {
		stdin, stdout = cmd.Trace(p.ID(), stdin, stdout)
	}
	return newClient(&burstReader{r: stdout}, stdin, p, settings, log, b), nil
}

// process is one running droid.
type process struct {
	*subprocess.Process
	path     string // of the program
	env      []string
	project  *projectconfig.Layer // see Command
	without  *projectconfig.Layer // see Command
	checked  bool                 // what it reports is checked
	models   []CustomModel        // see Command
	settings *files.PrivateFile   // nil if there is none
	files    []*files.PrivateFile // closed when the process has ended; settings is one of them
	own      map[string]string    // the user's variables for MCP servers, see withoutWatching
	dir      *files.TempDir       // see Command.Alone; nil if there is none
	scratch  *files.TempDir       // see Command.Scratch; nil if there is none
	flight   *flight.Connection   // see Command.Flight; nil if there is none
}

// startProcess starts droid.
func startProcess(cmd Command, log *zap.Logger) (*process, error) {
	c := subprocess.Command{Path: cmd.Path, Args: cmd.arguments(), Dir: cmd.Dir, Env: cmd.environment(), Tree: true}
	p := &process{project: cmd.Project, without: cmd.Excluded, checked: cmd.Alone || cmd.Excluded != nil, models: cmd.CustomModels}
	err := p.addFiles(&c, cmd, log)
	if err == nil && !cmd.TrustsAll {
		err = p.restrict(&c)
	}
	if err == nil && cmd.Alone {
		if p.dir, err = files.MakeEmptyDir(); err == nil {
			c.Dir = p.dir.Path
		}
	}
	p.path, p.env = c.Path, c.Env
	if err == nil && cmd.Scratch {
		if p.scratch, err = linkSettings(Home(c.Env)); err == nil {
			c.Env = append(c.Env[:len(c.Env):len(c.Env)], envHome+"="+p.scratch.Path)
		}
	}
	if err == nil {
		p.Process, err = subprocess.Start(c)
	}
	if err != nil {
		p.clean()
		return nil, err
	}
	p.flight = cmd.Flight.Connection(fmt.Sprintf("droid %d", p.ID()))
	log.Info("droid has started", zap.String("droid", c.Path), zap.Int("pid", p.ID()))
	log.Debug("droid's arguments", zap.Strings("args", c.Args))
	return p, nil
}

// restrict prevents git from running a repository's programs, and droid from watching files.
func (p *process) restrict(c *subprocess.Command) error {
	c.Env = withoutPrograms(c.Env)
	restore, own, err := withoutWatching(c)
	if restore != nil {
		p.files, p.own = append(p.files, restore), own
	}
	return err
}

// clean removes what was created for the process, after its end.
func (p *process) clean() {
	for _, f := range p.files {
		f.Close()
	}
	for _, dir := range []*files.TempDir{p.dir, p.scratch} {
		if dir != nil {
			_ = dir.Remove() // the next one that is created removes what is left
		}
	}
}

// addFiles creates the files that the process must read, and names them on its command line and in its environment.
func (p *process) addFiles(c *subprocess.Command, cmd Command, log *zap.Logger) error {
	if cmd.SystemPrompt != "" {
		f, err := files.NewPrivateFile("system-prompt", []byte(cmd.SystemPrompt))
		if err != nil {
			return fmt.Errorf("no file for the addition to the system prompt can be made: %w", err)
		}
		c.Args, p.files = append(c.Args, flagSystemPrompt, f.Path), append(p.files, f)
	}
	if !cmd.Runtime && !cmd.limited() && len(cmd.CustomModels) == 0 {
		return nil
	}
	content, err := cmd.settings(Home(c.Env))
	if err == nil {
		if c.Env, p.settings = addSettings(c.Env, content, log); p.settings != nil {
			p.files = append(p.files, p.settings)
			return nil
		}
		err = checkSettingsFree(c.Env)
	}
	if cmd.RequiresSettings() || len(cmd.CustomModels) > 0 {
		return err
	}
	log.Info("droid is not guarded against project files", zap.Error(err))
	return nil
}

// exitError describes a process that has ended. Its stderr is part of the error, for the user; the log has only the number of lines.
func (p *process) exitError(drain time.Duration, log *zap.Logger) *ExitError {
	exit := p.Exit(drain)
	if exit.LineCount > 0 {
		log.Debug("droid wrote to stderr", zap.Int("stderrLines", exit.LineCount))
	}
	if exit.Err != nil {
		log.Warn("waiting for droid", zap.Error(exit.Err))
	}
	return &ExitError{Path: p.path, Code: exit.Code, Signal: exit.Signal, Stderr: exit.Stderr, Err: exit.Err}
}

func (p *process) hasEnded() bool { return isClosed(p.Exited()) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
