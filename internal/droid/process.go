package droid

import (
	"cmp"
	"fmt"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// envAutoUpdate keeps droid from replacing its own program while sessions run.
const envAutoUpdate = "FACTORY_DROID_AUTO_UPDATE_ENABLED"

// flagSystemPrompt names a file whose text droid appends to its system prompt. droid
// reads it once, as it starts (0.99 to 0.225).
const flagSystemPrompt = "--append-system-prompt-file"

// Command says how to run droid.
type Command struct {
	Path string   // of the program, see Find
	Args []string // put before "exec"
	Dir  string   // working directory, "" for ours; see Alone
	Env  []string // nil for ours
	// Runtime makes the process take MCP servers and hooks where that can be done, see
	// Client.SetRuntime.
	Runtime bool
	// Project is what the project brings, as somebody has just looked; nil where nobody has, as
	// its user trusts all projects. The process is started with that.
	Project *projectconfig.Layer
	// Without is what a project brings that its user did not allow, and the process is to leave
	// out; nil where the user allowed all. With an empty one the process is guarded against what
	// nobody has seen.
	Without *projectconfig.Layer
	// Alone starts the process in an empty directory in place of Dir, and runs no MCP server and no
	// hook of anybody's until Client.SetRuntime says which. It reads nothing of a project before its
	// session is opened; one before 0.215 then has no subagents of it. So starts a droid that is to
	// leave something out, and one that is no session's. Start fails with a ExcludeError where that
	// cannot be had.
	Alone bool
	// TrustsAll is for a user who trusts every project: droid applies what appears while it runs, and
	// git is left as it is. Else droid watches no files (see withoutWatching), and git runs no program
	// that a repository's configuration names for watching its files and for looking at signatures,
	// takes no bare repository that is not named to it, and its status runs no hook, in droid and in
	// all that it runs.
	TrustsAll bool
	// SystemPrompt is added to droid's system prompt, "" for nothing. It holds for all
	// sessions of the process, new and loaded, also after a compaction, and droid stores
	// nothing of it (0.99 to 0.225).
	SystemPrompt string
}

// arguments are the whole command line behind the program. The flags --model,
// --auto and --use-spec have no effect in this mode (0.99 to 0.225, quirk 15), so all
// settings go into Initialize.
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

// Start runs droid and returns a client of it. droid lives until Close, Kill or
// its own end, or until our process dies.
//
// log may be nil.
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
	return newClient(&burstReader{r: p.Stdout}, p.Stdin, p, settings, log, b), nil
}

// process is one running droid.
type process struct {
	*subprocess.Process
	path     string // of the program
	env      []string
	project  *projectconfig.Layer // see Command
	without  *projectconfig.Layer // see Command
	checked  bool                 // what it says of itself is checked
	settings *files.PrivateFile   // nil without one
	files    []*files.PrivateFile // to close when the process is gone; settings is one of them
	own      map[string]string    // variables of the user's for MCP servers, see withoutWatching
	dir      *files.TempDir       // see Command.Alone; nil without one
}

// startProcess starts droid.
func startProcess(cmd Command, log *zap.Logger) (*process, error) {
	c := subprocess.Command{Path: cmd.Path, Args: cmd.arguments(), Dir: cmd.Dir, Env: cmd.environment(), Tree: true}
	p := &process{project: cmd.Project, without: cmd.Without, checked: cmd.Alone || cmd.Without != nil}
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
	if err == nil {
		p.Process, err = subprocess.Start(c)
	}
	if err != nil {
		p.clean()
		return nil, err
	}
	log.Info("droid has started", zap.String("droid", c.Path), zap.Int("pid", p.ID()))
	log.Debug("droid's arguments", zap.Strings("args", c.Args))
	return p, nil
}

// restrict keeps git from running programs of a repository, and droid from watching files.
func (p *process) restrict(c *subprocess.Command) error {
	c.Env = withoutPrograms(c.Env)
	restore, own, err := withoutWatching(c)
	if restore != nil {
		p.files, p.own = append(p.files, restore), own
	}
	return err
}

// clean removes what was made for the process, which is gone.
func (p *process) clean() {
	for _, f := range p.files {
		f.Close()
	}
	if p.dir != nil {
		_ = p.dir.Remove() // the next one that is made removes what is left
	}
}

// addFiles makes the files that the process is to read and names them to it.
func (p *process) addFiles(c *subprocess.Command, cmd Command, log *zap.Logger) error {
	if cmd.SystemPrompt != "" {
		f, err := files.NewPrivateFile("system-prompt", []byte(cmd.SystemPrompt))
		if err != nil {
			return fmt.Errorf("no file for the addition to the system prompt can be made: %w", err)
		}
		c.Args, p.files = append(c.Args, flagSystemPrompt, f.Path), append(p.files, f)
	}
	if !cmd.Runtime && !cmd.limited() {
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
	if cmd.RequiresSettings() {
		return err
	}
	log.Info("droid is not guarded against what a project may bring", zap.Error(err))
	return nil
}

// exitError describes a process that has ended. Its stderr goes to the user with the
// error; the log gets the number of lines alone.
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
