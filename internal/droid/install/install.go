// Package install installs droid by the official command, `npm install -g droid`, when
// the user has agreed to it, and says what to do where that cannot be done.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/sys/child"
	"droid-acp/internal/sys/files"
)

// Installer says how droid is installed.
type Installer struct {
	Find  func() (string, error) // the droid program, see droid.Find
	Named string                 // the program that the user's settings name, "" for none
	// Agrees asks the user. Nothing is downloaded before it has returned true.
	Agrees func(question string) (bool, error)
	Out    io.Writer // gets what npm says, and what is done

	GOOS string // runtime.GOOS, or what a test takes
}

// ErrDeclined says that the user did not agree.
var ErrDeclined = errors.New("droid was not installed, as you wished")

// askTime bounds a question to npm or droid that wants no network.
const askTime = 15 * time.Second

// Run installs droid unless one that works is there. The error says what to do.
func (i Installer) Run(ctx context.Context) error {
	if path, err := i.Find(); err == nil && i.works(path) {
		i.say("droid is installed: " + i.describe(ctx, path) + ". There is nothing to do.")
		return nil
	}
	if i.Named != "" {
		return fmt.Errorf("%s is no droid that works here, and npm installs droid elsewhere. Leave out --droid and %s, and run this again", i.Named, droid.EnvDroid)
	}
	npm, err := child.LookPath("npm")
	if err != nil {
		return errors.New("npm, which installs droid, is not there. " + i.nodeWords())
	}
	prefix := prefixOf(ctx, npm)
	question := "This runs `npm install -g droid`, which downloads Factory's droid (some 300 MB on the disk) from npm's registry"
	if prefix != "" {
		question += " and installs it in " + prefix
	}
	agreed, err := i.Agrees(question + ".")
	if err != nil {
		return err
	}
	if !agreed {
		return ErrDeclined
	}
	said, err := i.npm(ctx, npm)
	if err != nil {
		return failure(ctx, said, prefix, err)
	}
	return i.result(ctx, prefix)
}

func (i Installer) say(line string) { fmt.Fprintln(i.Out, line) }

// works reports whether a program may be a droid for this system.
func (i Installer) works(path string) bool {
	program, err := droid.Inspect(path)
	return err == nil && diagnosis.WrongSystem(program) == nil
}

// describe names a droid with its version, if it tells one.
func (i Installer) describe(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	release, err := droid.Release(ctx, path, nil)
	if err != nil {
		return path + ", which does not tell its version; " + diagnosis.Command("doctor") + " tells more"
	}
	return path + ", version " + release
}

// result looks for droid once more.
func (i Installer) result(ctx context.Context, prefix string) error {
	path, err := i.Find()
	if err == nil {
		i.say("droid is installed: " + i.describe(ctx, path) + ".")
		return nil
	}
	if file := programIn(prefix); file != "" {
		return fmt.Errorf("npm has installed droid in %s, where droid-acp does not look. Put that directory into your PATH, or set %s to %s", filepath.Dir(file), droid.EnvDroid, file)
	}
	return fmt.Errorf("npm has ended well, and yet: %w. Look at what it said", err)
}

// programIn is the droid that npm has installed under its prefix, "" if there is none.
func programIn(prefix string) string {
	if prefix == "" {
		return ""
	}
	for _, name := range []string{filepath.Join("bin", "droid"), "droid.cmd", "droid.exe"} {
		file := filepath.Join(prefix, name)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// prefixOf is where npm installs programs, "" if it does not say.
func prefixOf(ctx context.Context, npm string) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var out bytes.Buffer
	if run(ctx, &out, child.Command{Path: npm, Args: []string{"prefix", "-g"}}) != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	prefix := strings.TrimSpace(lines[len(lines)-1])
	if !filepath.IsAbs(prefix) {
		return ""
	}
	return prefix
}

// npm installs droid and returns the end of what npm said.
func (i Installer) npm(ctx context.Context, npm string) (said string, err error) {
	end := &ending{out: i.Out}
	err = run(ctx, end, child.Command{Path: npm, Args: []string{"install", "-g", "droid"}, MergeStderr: true})
	return string(end.last), err
}

// run runs npm.
func run(ctx context.Context, out io.Writer, c child.Command) error {
	exit, err := child.Run(ctx, c, out, 5*time.Second)
	if err == nil && exit.Code != 0 {
		err = errors.New(exit.Text)
	}
	return err
}

// failure explains why npm did not install droid.
func failure(ctx context.Context, said, prefix string, err error) error {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	where := "where it keeps programs"
	if prefix != "" {
		where = "in " + prefix
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("npm was ended before it had installed droid")
	case has("EACCES", "EPERM") && runtime.GOOS == "windows":
		return errors.New("npm may not write " + where + ". Run the same in a terminal of an administrator")
	case has("EACCES", "EPERM"):
		return errors.New("npm may not write " + where + ". Install droid in your own directory: `npm install -g --prefix ~/.local droid`; droid-acp finds it there")
	case has("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH", "ECONNRESET", "CERT"):
		return errors.New("npm could not reach its registry. Check the network, and the proxy (`npm config get proxy`), then try again")
	case has("ENOSPC"):
		return errors.New("the disk is full. Make room, then try again")
	}
	return fmt.Errorf("npm did not install droid (%w); what it said stands above. Or install droid otherwise: https://docs.factory.ai", err)
}

// nodeWords say how npm gets onto this system.
func (i Installer) nodeWords() string {
	command := map[string]string{"darwin": "brew install node", "windows": "winget install OpenJS.NodeJS.LTS"}[i.GOOS]
	if i.GOOS == "linux" {
		command = linuxNode("/etc/os-release")
	}
	words := "It comes with Node (https://nodejs.org)"
	if command != "" {
		words += ": `" + command + "`"
	}
	other, byNPM := diagnosis.InstallCommand()
	if byNPM {
		return words + "."
	}
	return words + ". Without npm, Factory's own installer does it: `" + other + "`."
}

// linuxNode is the command that installs npm on this distribution, "" for an unknown one.
func linuxNode(release string) string {
	data, err := files.Read(release, maxEnding)
	if err != nil {
		return ""
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		fields[key] = strings.Trim(value, `"'`)
	}
	for id := range strings.FieldsSeq(fields["ID"] + " " + fields["ID_LIKE"]) {
		switch id {
		case "debian", "ubuntu":
			return "sudo apt install npm"
		case "fedora", "rhel":
			return "sudo dnf install npm"
		case "arch":
			return "sudo pacman -S npm"
		case "suse", "opensuse":
			return "sudo zypper install npm"
		case "alpine":
			return "sudo apk add npm"
		}
	}
	return ""
}

// maxEnding is how much of what npm said is looked at, in bytes.
const maxEnding = 16 << 10

// ending passes on what is written and keeps the end of it.
type ending struct {
	out  io.Writer
	last []byte
}

// Write implements io.Writer.
func (e *ending) Write(p []byte) (int, error) {
	e.last = append(e.last, p...)
	if len(e.last) > maxEnding {
		e.last = append(e.last[:0], e.last[len(e.last)-maxEnding:]...)
	}
	return e.out.Write(p)
}
