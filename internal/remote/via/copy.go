package via

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// programCopy copies an agent's program to the far side, to the path from which the command starts it. It does so with programs that are
// started like the agent: by the words before that path in the command. No shell is involved.
type programCopy struct {
	agent  relay.Agent
	prefix []string // words of the command before the path
	to     string   // the path at the far side
	file   string   // the local file
	log    *zap.Logger
}

const (
	copyTime   = 10 * time.Minute // limits the whole copy
	removeTime = 5 * time.Second  // limits the removal of a failed copy
)

// errCopyTime is why copying was given up.
var errCopyTime = errors.New("it took more than 10 minutes")

// maxProgram limits the size of the copied file, in bytes.
const maxProgram = 1 << 30

// plainPath matches paths that no shell on the way interprets.
var plainPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/][A-Za-z0-9._/+@,:=-]*$`) })

// CheckCopy returns an error if the command does not show where to copy the program of that name.
func CheckCopy(name string, command []string) error {
	if programIndex(name, command) < 0 {
		return fmt.Errorf("--copy puts the program where the command starts it, so name it there by a path that ends in /%s, such as ssh HOST .local/bin/%[1]s", name)
	}
	return nil
}

// programIndex returns the index of the first word of the command that is the path of a program of that name, −1 if there is none. The
// first word is a program of this machine.
func programIndex(name string, command []string) int {
	i := slices.IndexFunc(command[1:], func(word string) bool {
		return strings.Contains(word, "/") && path.Base(word) == name && plainPath().MatchString(word)
	})
	if i < 0 {
		return -1
	}
	return i + 1
}

// copy copies the program, unless an identical one is there.
func (c *programCopy) copy(ctx context.Context) *Failure {
	text, err := files.Read(c.file, maxProgram)
	if err != nil {
		return c.failed("it cannot be read here: %v", err)
	}
	want := fmt.Sprintf("%x", sha256.Sum256(text))
	there, f := c.sum(ctx, c.to)
	if f != nil || there == want {
		return f
	}
	if f := c.checkPlatform(ctx); f != nil {
		return f
	}
	c.log.Warn(c.agent.Name+" is copied to the far side", zap.String("to", c.to), zap.Int("bytes", len(text)))
	temporary := c.to + ".new-" + rand.Text()[:8] + onlyPiece
	if f := c.write(ctx, temporary, text, want); f != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		_, _, _ = c.run(ctx, nil, "rm", "-f", temporary) // the first failure is reported, this one is not
		return f
	}
	return nil
}

// onlyPiece is the suffix that split appends to the name of the first, here the only, piece. dd could write to the right name, but closes
// its stdout to do so, and containerd then ends the stdin of what kubectl exec runs (seen with 1.6); tee would send the file back.
const onlyPiece = "aa"

func (c *programCopy) write(ctx context.Context, temporary string, text []byte, want string) *Failure {
	for _, step := range []struct {
		in    []byte
		words []string
	}{
		{nil, []string{"mkdir", "-p", path.Dir(c.to)}},
		{text, []string{"split", "-b", "1024m", "-", strings.TrimSuffix(temporary, onlyPiece)}}, // maxProgram
		{nil, []string{"chmod", "755", temporary}},
	} {
		if f := c.step(ctx, step.in, step.words...); f != nil {
			return f
		}
	}
	there, f := c.sum(ctx, temporary)
	switch {
	case f != nil:
		return f
	case there != want:
		return c.failed("what arrived has the SHA-256 %q and not %s; nothing was replaced", there, want)
	}
	return c.step(ctx, nil, "mv", "-f", temporary, c.to)
}

func (c *programCopy) step(ctx context.Context, in []byte, words ...string) *Failure {
	_, exit, err := c.run(ctx, in, words...)
	switch {
	case err != nil:
		return c.failed("%v", err)
	case exit.Code != 0:
		return c.failed("%s ended (%s). It said:\n%s", shown(words), exit.Text, lastLines(exit.Stderr))
	}
	return nil
}

// sums are programs that print the SHA-256 of a file, of Linux and of macOS.
var sums = [][]string{{"sha256sum"}, {"shasum", "-a", "256"}}

// sumLine matches the line with the sum; a shell may have printed others around it.
var sumLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\\?([0-9a-f]{64}) `) })

// systemLine matches the output of uname -sm, with the same caveat.
var systemLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(linux|darwin|[a-z]+bsd|sunos) ([a-z0-9_]+)\r?$`)
})

// sum returns the SHA-256 of a file at the far side, "" if there is no such file.
func (c *programCopy) sum(ctx context.Context, file string) (string, *Failure) {
	for _, program := range sums {
		out, exit, err := c.run(ctx, nil, append(program[:len(program):len(program)], file)...)
		if err != nil && ctx.Err() != nil {
			return "", c.failed("%v", err)
		}
		if err != nil {
			return "", notStarted(c.prefix, err)
		}
		if sum := sumLine().FindStringSubmatch(out); exit.Code == 0 && sum != nil {
			return sum[1], nil
		}
		if known := findCause(c.agent, exit, strings.ToLower(lastLines(exit.Stderr))); known != nil && known.kind != NoAgent {
			return "", known.failure(c.agent, c.prefix, exit)
		} else if exit.Code != 127 {
			return "", nil
		}
	}
	return "", c.failed("the far side has neither sha256sum nor shasum, so that nobody can check what arrives")
}

// checkPlatform checks that the program is one for the far side's system.
func (c *programCopy) checkPlatform(ctx context.Context) *Failure {
	info, err := buildinfo.ReadFile(c.file)
	if err != nil || path.Base(info.Path) != c.agent.Name {
		return c.failed("%s is no %s", c.file, c.agent.Name)
	}
	var system, processor string
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			system = s.Value
		case "GOARCH":
			processor = s.Value
		}
	}
	if binary, err := elf.Open(c.file); err == nil {
		defer binary.Close()
		if slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
			return c.failed("%s needs libraries of this system; one of a release, or built with CGO_ENABLED=0, does not", c.file)
		}
	}
	out, exit, err := c.run(ctx, nil, "uname", "-sm")
	switch names := systemLine().FindStringSubmatch(strings.ToLower(out)); {
	case err != nil:
		return c.failed("%v", err)
	case exit.Code != 0 || names == nil:
		return c.failed("the far side does not say by `uname -sm` what system it is: %s", lastLines(exit.Stderr))
	case names[1] != system || goArch(names[2]) != processor:
		f := c.failed("it is for %s/%s, and the far side is %s/%s. Download the one for that system and name it with --binary", system, processor, names[1], goArch(names[2]))
		f.Kind = WrongProgram
		return f
	}
	return nil
}

// goArch returns Go's name of a processor.
func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// run runs a program at the far side. The error says why nothing was run, or is the cause of the end of ctx.
func (c *programCopy) run(ctx context.Context, in []byte, words ...string) (out string, exit subprocess.Exit, err error) {
	command := append(c.prefix[:len(c.prefix):len(c.prefix)], words...)
	p, err := subprocess.Start(subprocess.Command{Path: command[0], Args: command[1:], Env: environment()})
	if err != nil {
		return "", exit, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() }) // it may have ended
	defer stop()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.Copy(p.Stdin, bytes.NewReader(in)) // the program reports why it does not read
		_ = p.Stdin.Close()
	}()
	var text bytes.Buffer
	_, _ = io.Copy(&text, io.LimitReader(p.Stdout, 64<<10)) // after an error the output is incomplete
	_ = p.Stdout.Close()                                    // more output is not needed
	<-p.AllExited()
	<-written
	return text.String(), p.Exit(relay.DrainTime), context.Cause(ctx)
}

func (c *programCopy) failed(format string, a ...any) *Failure {
	return &Failure{NotCopied, fmt.Sprintf("%s was not copied to %s at the far side: "+format+". Mend that, or install it there by hand.", append([]any{c.agent.Name, c.to}, a...)...), -1}
}

// lastLines returns the last lines of a program's output for an error.
func lastLines(lines []string) string { return strings.Join(lines[max(0, len(lines)-maxSaid):], "\n") }
