package droid

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/child"
	"droid-acp/internal/droid/layer"
	"droid-acp/internal/files"
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
	Dir  string   // working directory, "" for ours
	Env  []string // nil for ours
	// Runtime makes the process take MCP servers and hooks where that can be done, see
	// Client.SetRuntime.
	Runtime bool
	// Without is what a project brings to run and the process is to leave out, nil for
	// nothing. Such a process also runs no MCP server and no hook of anybody's, until
	// Client.SetRuntime says which. Start fails with a LeftOutError where that cannot be had.
	Without *layer.Layer
	// WithoutWatcher keeps git from running the program that a repository names for
	// watching its files, in droid and in all that it runs.
	WithoutWatcher bool
	// SystemPrompt is added to droid's system prompt, "" for nothing. It holds for all
	// sessions of the process, new and loaded, also after a compaction, and droid stores
	// nothing of it (0.99 to 0.225).
	SystemPrompt string
}

// arguments are the whole command line behind the program. The flags --model,
// --auto and --use-spec have no effect in this mode (0.99 to 0.225), so all
// settings go into Initialize.
func (c Command) arguments() []string {
	args := append([]string(nil), c.Args...)
	args = append(args, "exec", "--input-format", "stream-jsonrpc", "--output-format", "stream-jsonrpc")
	if c.Dir != "" {
		args = append(args, "--cwd", c.Dir)
	}
	return args
}

func (c Command) environment() []string { return child.Environment(c.Env, envAutoUpdate, "false") }

// Start runs droid and returns a client of it. droid lives until Close, Kill or
// its own end, or until our process dies.
//
// log may be nil.
func Start(cmd Command, log *zap.Logger) (*Client, error) {
	return start(cmd, log, defaultBounds)
}

func start(cmd Command, log *zap.Logger, b bounds) (*Client, error) {
	if log == nil {
		log = zap.NewNop()
	}
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
	*child.Process
	path     string // of the program
	env      []string
	without  *layer.Layer     // see Command
	settings *files.Private   // nil without one
	files    []*files.Private // to close when the process is gone; settings is one of them
}

// startProcess starts droid.
func startProcess(cmd Command, log *zap.Logger) (*process, error) {
	c := child.Command{Path: cmd.Path, Args: cmd.arguments(), Dir: cmd.Dir, Env: cmd.environment(), Tree: true}
	settings, given, err := giveFiles(&c, cmd, log)
	if err != nil {
		return nil, err
	}
	p := &process{path: c.Path, env: c.Env, without: cmd.Without, settings: settings, files: given}
	if p.Process, err = child.Start(c); err != nil {
		p.closeFiles()
		return nil, err
	}
	log.Info("droid has started", zap.String("droid", c.Path), zap.Int("pid", p.ID()))
	log.Debug("droid's arguments", zap.Strings("args", c.Args))
	return p, nil
}

func (p *process) closeFiles() {
	for _, f := range p.files {
		f.Close()
	}
}

// giveFiles makes the files that the process is to read and names them to it. settings
// is one of them, nil without one; all are to be closed when the process is gone.
func giveFiles(c *child.Command, cmd Command, log *zap.Logger) (settings *files.Private, made []*files.Private, err error) {
	if cmd.WithoutWatcher {
		c.Env = withoutWatcher(c.Env)
	}
	if cmd.SystemPrompt != "" {
		f, err := files.NewPrivate("system-prompt", []byte(cmd.SystemPrompt))
		if err != nil {
			return nil, nil, fmt.Errorf("no file for the addition to the system prompt can be made: %w", err)
		}
		c.Args, made = append(c.Args, flagSystemPrompt, f.Path), append(made, f)
	}
	if !cmd.Runtime && cmd.Without == nil {
		return nil, made, nil
	}
	content := []byte("{}")
	if cmd.Without != nil {
		content, err = strictest(Home(c.Env), *cmd.Without)
	}
	if err == nil {
		if c.Env, settings = addSettings(c.Env, content, log); settings != nil {
			return settings, append(made, settings), nil
		}
		err = noSettings(c.Env)
	}
	if cmd.Without == nil {
		return nil, made, nil
	}
	for _, f := range made {
		f.Close()
	}
	return nil, nil, err
}

// exitError describes a process that has ended. Its stderr goes to the user with the
// error; the log gets the number of lines alone.
func (p *process) exitError(drain time.Duration, log *zap.Logger) *ExitError {
	exit := p.Exit(drain)
	if exit.Lines > 0 {
		log.Debug("droid wrote to stderr", zap.Int("stderrLines", exit.Lines))
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
