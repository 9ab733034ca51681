package diagnosis

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"droid-acp/internal/droid"
	"droid-acp/internal/sys/subprocess"
)

// Start explains why there is no droid process. A *Problem is returned unchanged.
func Start(err error) *Problem {
	var known *Problem
	var notFound *droid.NotFoundError
	var exit *droid.ExitError
	var file *fs.PathError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &notFound):
		return explainNotFound(notFound)
	case errors.As(err, &exit):
		return Exit(exit)
	case errors.As(err, &file) && file.Op == "fork/exec":
		if t := wrongProgram(file); t != nil {
			return t
		}
	}
	return &Problem{StartFailed, "droid could not be started: " + Sentence(err), startRemedy(err)}
}

// startRemedy returns the remedy for a droid that was not started although its program may be right.
func startRemedy(err error) string {
	if errors.Is(err, subprocess.ErrDir) && errors.Is(err, fs.ErrNotExist) {
		return "Create this directory again and try again, or work in another one."
	}
	path := ""
	if file, is := errors.AsType[*fs.PathError](err); is {
		path = file.Path
	}
	return cmp.Or(FileRemedy(path, err), TryRemedy("droid"))
}

// TryRemedy says how to check whether a droid works.
func TryRemedy(program string) string {
	return "Look whether `" + quoteWord(program) + " --version` works in a terminal."
}

// UpdateRemedy returns the remedy for a droid that is too old. program is its path.
func UpdateRemedy(program string) string {
	return "Update droid, by `" + quoteWord(program) + " update` or as you installed it."
}

// explainNotFound explains that there is no droid program.
func explainNotFound(err *droid.NotFoundError) *Problem {
	cause := Sentence(err)
	install := installHint()
	for _, place := range err.Searched {
		switch place.Name {
		case "--droid":
			return &Problem{NotFound, cause, "Correct the path behind --droid, or leave the flag out so that droid is looked for. " + install}
		case "$" + droid.EnvDroid:
			return &Problem{NotFound, cause, "Correct the path in " + droid.EnvDroid + ", or unset it so that droid is looked for. " + install}
		}
	}
	return &Problem{NotFound, cause, install + " If it is installed, set " + droid.EnvDroid +
		" to its path and start the agent again: an editor that was started from the desktop may not have the PATH of your terminal."}
}

// installHint says how to install droid on this system: with npm if available, otherwise with Factory's installer (docs.factory.ai).
func installHint() string {
	command := "curl -fsSL https://app.factory.ai/cli | sh"
	if _, err := subprocess.LookPath("npm"); err == nil {
		command = "npm install -g droid"
	} else if runtime.GOOS == "windows" {
		command = "irm https://app.factory.ai/cli/windows | iex"
	}
	return "Install Factory's droid with `" + command + "`."
}

// wrongProgram explains why the system does not run an existing program, nil if its file does not show why.
func wrongProgram(err *fs.PathError) *Problem {
	program, inspectErr := droid.Inspect(err.Path)
	if inspectErr != nil && !errors.Is(inspectErr, fs.ErrPermission) {
		return nil
	}
	if t := WrongSystem(program); t != nil {
		return t
	}
	at := "droid (" + err.Path + ")"
	switch {
	case errors.Is(err.Err, fs.ErrPermission):
		return &Problem{StartFailed, at + " may not be run: " + Sentence(err.Err),
			"Make it executable with `chmod +x " + quoteWord(err.Path) + "`, and look whether it lies on a file system that forbids programs. Or install it anew. " + installHint()}
	case errors.Is(err.Err, fs.ErrNotExist) && program.Interpreter != "":
		return &Problem{StartFailed, fmt.Sprintf("%s is a script for %q, which is not there.", at, program.Interpreter), "Install what the script needs, or install droid anew. " + installHint()}
	case errors.Is(err.Err, fs.ErrNotExist) && len(program.Systems) > 0:
		return &Problem{StartFailed, at + " is there, but the system library that loads it is not.",
			"droid for Linux wants glibc; Alpine Linux, for example, has another library. Run it on a system with glibc."}
	}
	return nil
}

// WrongSystem explains that a program is for another system, nil if it is not.
func WrongSystem(p droid.Program) *Problem {
	if p.RunsOn(runtime.GOOS, runtime.GOARCH) {
		return nil
	}
	return &Problem{StartFailed, fmt.Sprintf("droid (%s) is a program for %s, and this system is %s/%s.", p.Path, strings.Join(p.Systems, " and "), runtime.GOOS, runtime.GOARCH),
		"Install the droid for this system. " + installHint()}
}

// noCommand is the exit code of a script whose program is not in the PATH (POSIX).
const noCommand = 127

// Exit explains that droid exited before it could be used.
func Exit(err *droid.ExitError) *Problem {
	crash, file := crashOf(err), remedyInText(err.Error())
	switch {
	case err.Signal == "SIGABRT" && !err.Started && lacksProc():
		return &Problem{Exited, "droid cannot run without /proc, which is not mounted here.", "Mount it: `mount -t proc proc /proc`."}
	case err.Code == noCommand && !err.Started && strings.Contains(strings.Join(err.Stderr, "\n"), "node"):
		return &Problem{Exited, Sentence(err), "This droid is a script that needs Node. Put node into the PATH of the editor, or install droid as a program. " + installHint()}
	case strings.HasPrefix(crash, "Illegal instruction") || crash == "" && err.Signal == "SIGILL":
		return &Problem{Exited, Sentence(err), "This processor lacks instructions that this build of droid uses. npm has builds for older processors: " + installHint()}
	case crash != "":
		return &Problem{Exited, Sentence(err), "droid itself crashed (" + crash + "). Try again; if it crashes again, a newer droid may help. " + UpdateRemedy(cmp.Or(err.Path, "droid"))}
	case file != "":
		return &Problem{Exited, Sentence(err), file}
	}
	return &Problem{Exited, Sentence(err), TryRemedy(cmp.Or(err.Path, "droid"))}
}

// lacksProc reports whether this is a Linux without /proc, where Bun, droid's runtime, ends itself (0.99.0, 0.225.2).
func lacksProc() bool {
	_, err := os.Stat("/proc/self")
	return runtime.GOOS == "linux" && errors.Is(err, fs.ErrNotExist)
}

// bunCrash matches a line in which Bun, droid's runtime, reports its crash, after which it ends itself: by SIGILL on amd64.
var bunCrash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:panic(?:\([^)]*\))?|oh no): (.+?)\.?$`) })

// crashOf returns the reason that droid gave for a crash, "" if none.
func crashOf(err *droid.ExitError) string {
	if said := bunCrash().FindStringSubmatch(strings.Join(err.Stderr, "\n")); said != nil {
		return said[1]
	}
	return ""
}

// IsStart reports whether an error says why there is no droid process, as opposed to what a process did.
func IsStart(err error) bool {
	file, ok := errors.AsType[*fs.PathError](err)
	return errors.As(err, new(*Problem)) || errors.As(err, new(*droid.NotFoundError)) || ok && file.Op == "fork/exec"
}

// NoHome explains that the home directory is unknown: droid would exit without saying why (0.99 to 0.225).
func NoHome(err error) *Problem {
	return &Problem{StartFailed, "droid could not be started: " + strings.TrimSuffix(err.Error(), ".") + ", and droid needs it.",
		"Set HOME to your home directory and start the agent again."}
}

// Sentence returns the text of an error with a full stop.
func Sentence(err error) string {
	text := err.Error()
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
