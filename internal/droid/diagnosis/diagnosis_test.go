package diagnosis

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
)

// path makes a PATH with these programs.
func path(t *testing.T, programs ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range programs {
		if runtime.GOOS == "windows" {
			p += ".exe"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, p), nil, 0o755))
	}
	t.Setenv("PATH", dir)
}

// kinds are all kinds.
var kinds = []Kind{NotFound, StartFailed, Exited, Crashed, KeepsCrashing, Refused, Failed, NotLoggedIn,
	ModelAuthentication, ModelExhausted, ModelRateLimited, ModelUnreachable, ModelUnavailable, ModelRejected, ProcessExit, TurnFailed,
	PromptRejected, NotPersisted, NoApprover, BadSchema, NotInForm, NoOutput}

func TestMissing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USERPROFILE", os.Getenv("HOME"))
	t.Setenv(droid.EnvDroid, "")
	find := func(explicit string) *Problem {
		_, err := droid.Find(explicit)
		return Start(fmt.Errorf("starting: %w", err))
	}
	path(t, "npm")
	got := find("")
	require.Equal(t, NotFound, got.Kind)
	require.Contains(t, got.Cause, "droid not found: ")
	require.Contains(t, got.Remedy, "`npm install -g droid`. If it is installed, ")
	require.Contains(t, got.Remedy, "set "+droid.EnvDroid+" to its path and start the agent again")
	path(t)
	got = find("")
	require.Contains(t, got.Remedy, "https://app.factory.ai/cli")
	require.NotContains(t, got.Remedy, "npm")
	require.Contains(t, find("/none/droid").Remedy, "Correct the path behind --droid")
	t.Setenv(droid.EnvDroid, "/none/droid")
	require.Contains(t, find("").Remedy, "Correct the path in "+droid.EnvDroid)
}

// start runs a program as droid and returns why it did not start.
func start(t *testing.T, content string, mode fs.FileMode) *Problem {
	t.Helper()
	file := filepath.Join(t.TempDir(), "droid")
	require.NoError(t, os.WriteFile(file, []byte(content), mode))
	_, err := droid.Start(droid.Command{Path: file}, nil)
	require.Error(t, err)
	got := Start(err)
	require.Equal(t, StartFailed, got.Kind)
	require.Contains(t, got.Cause, file)
	require.NotEmpty(t, got.Remedy)
	return got
}

func TestUnfit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs are for Linux")
	}
	require.Contains(t, start(t, elfOf("arm64"), 0o755).Cause, "linux/"+other()+", and this system is linux/"+runtime.GOARCH)
	require.Contains(t, start(t, "#!/none/sh\n", 0o755).Cause, `a script for "/none/sh"`)
	if os.Getuid() != 0 {
		require.Contains(t, start(t, "x", 0o600).Remedy, "chmod +x")
	}
	require.Contains(t, start(t, "no program", 0o755).Cause, "exec format error")
}

// other is an architecture that is not this one.
func other() string {
	if runtime.GOARCH == "arm64" {
		return "amd64"
	}
	return "arm64"
}

// elfOf is the head of a program for another architecture.
func elfOf(string) string {
	machine := byte(183) // EM_AARCH64
	if other() == "amd64" {
		machine = 62
	}
	head := append([]byte("\x7fELF\x02\x01\x01\x00"), make([]byte, 56)...)
	head[16], head[18], head[20], head[52], head[54], head[58] = 2, machine, 1, 64, 56, 64
	return string(head)
}

func TestExit(t *testing.T) {
	node := Start(&droid.ExitError{Code: 127, Stderr: []string{"env: 'node': No such file or directory"}})
	require.Equal(t, Exited, node.Kind)
	require.Contains(t, node.Remedy, "needs Node")
	require.Contains(t, Start(&droid.ExitError{Code: -1, Signal: "SIGILL"}).Remedy, "older processors")
	require.Contains(t, Start(&droid.ExitError{Code: 1}).Error(), "droid exited with code 1 before it said anything. Look whether")
	require.Equal(t, "droid could not be started: no more processes. "+TryRemedy("droid"), Start(errors.New("no more processes")).Error())
	home := NoHome(errors.New("$HOME is not defined"))
	require.Same(t, home, Start(fmt.Errorf("x: %w", home)))
	require.True(t, IsStart(home) && IsStart(&droid.NotFoundError{}) && IsStart(&fs.PathError{Op: "fork/exec"}))
	require.False(t, IsStart(&droid.ExitError{}) || IsStart(&fs.PathError{Op: "open"}))
	require.Equal(t, "droid could not be started: $HOME is not defined, and droid needs it. Set HOME to your home directory and start the agent again.", home.Error())
}

// A crash whose reason droid prints is explained by that, whichever signal ends it: Bun ends itself by SIGILL.
func TestCrash(t *testing.T) {
	const crashed, lacks = "droid itself crashed (", "This processor lacks instructions"
	oh := "oh no: Bun has crashed. This indicates a bug in Bun, not your code."
	for said, want := range map[string]string{
		"Bun v1.3.9 (d5628db2) Linux x64 (baseline)\npanic(main thread): Segmentation fault at address 0x275E9800000\n" + oh: crashed + "Segmentation fault at address 0x275E9800000)",
		"panic: invalid enum value\n" + oh:  crashed + "invalid enum value)",
		oh:                                  crashed + "Bun has crashed. This indicates a bug in Bun, not your code)",
		"oh no: Bun has ran out of memory.": crashed + "Bun has ran out of memory)",
		"CPU lacks AVX support. Please consider upgrading to a newer CPU.\npanic(main thread): Illegal instruction at address 0x1D01CF\n" + oh: lacks,
		"a warning of a panic: none": lacks,
		"":                           lacks,
	} {
		exit := &droid.ExitError{Path: "/bin/droid", Code: -1, Signal: "SIGILL", Stderr: strings.Split(said, "\n")}
		require.True(t, strings.HasPrefix(Exit(exit).Remedy, want), "%s: %s", said, Exit(exit).Remedy)
		if strings.HasPrefix(want, crashed) {
			require.Contains(t, Exit(exit).Remedy, "Try again; if it crashes again, a newer droid may help. Update droid, by `/bin/droid update`")
		}
	}
	require.Contains(t, Exit(&droid.ExitError{Code: -1, Signal: "SIGTRAP", Stderr: []string{"panic(main thread): Segmentation fault at address 0x0", oh}}).Remedy, crashed)
}

// Bun prints the source around an error that ends droid: users read the error, and what to do about a file.
func TestExitWithSource(t *testing.T) {
	const said = `Failed to initialize telemetry client: EROFS: read-only file system, mkdir '/h/.factory'
2576 |   }
2577 |
2581 |       fs.mkdirSync(factoryDir, { recursive: true });
                ^
EROFS: read-only file system, mkdir '/h/.factory'
    path: "/h/.factory",
 syscall: "mkdir",
   errno: -30,
    code: "EROFS"
      at ensureSessionsDirectory (src/services/SessionService.ts:2581:10)
      at new ir (src/services/SessionService.ts:1008:10)
      at src/entrypoints/exec/run.ts:122:34
Bun v1.3.9 (Linux x64 baseline)`
	got := Exit(&droid.ExitError{Code: 1, Stderr: strings.Split(said, "\n")}).Error()
	require.Equal(t, "droid exited with code 1 before it said anything: Failed to initialize telemetry client: EROFS: read-only file system, mkdir '/h/.factory'\n"+
		"EROFS: read-only file system, mkdir '/h/.factory'\nBun v1.3.9 (Linux x64 baseline). "+
		"Have its file system mounted so that it can be written, or set HOME to a directory elsewhere.", got)
}

func TestGroups(t *testing.T) {
	for kind, want := range map[string]Group{
		"droid_not_found":      NotInstalled,
		"droid_start_failed":   NotStarted,
		"droid_exited":         NotStarted,
		"model_rate_limited":   ModelFailed,
		"droid_crashed":        OtherFailure,
		"error":                ModelFailed,
		"model_of_the_future":  ModelFailed,
		"model_refused":        OtherFailure,
		"model_ignored":        OtherFailure,
		"":                     OtherFailure,
		"internal_error":       OtherFailure,
		"droid_keeps_crashing": OtherFailure,
	} {
		require.Equal(t, want, GroupOf(-32603, kind), kind)
	}
	require.Equal(t, LoggedOut, GroupOf(CodeNotLoggedIn, ""))
	require.Equal(t, OtherFailure, GroupOf(-32602, "model_rate_limited"))
	require.Equal(t, LoggedOut, LoginRequired().Kind.Group())
	require.Contains(t, LoginMethods(true), "your editor")
	require.NotContains(t, LoginMethods(false), "your editor")
	for _, kind := range kinds {
		if strings.HasPrefix(string(kind), "model_") {
			require.NotEmpty(t, ModelRemedy(string(kind)), kind)
		}
	}
}

// TestErrorsAreExplained checks that each value that an error of this program may have in data.kind has one row in docs/troubleshooting.md,
// under "Each error", and no other value has one.
func TestErrorsAreExplained(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	words := map[string]bool{}
	for _, kind := range kinds {
		words[string(kind)] = true
	}
	rows, err := os.ReadFile(filepath.Join(root, "internal", "adapter", "options", "settings.go"))
	require.NoError(t, err)
	words["auto_compaction_refused"] = true // its other word is found below
	for _, m := range regexp.MustCompile(`Called: "([a-z ]+)", .*\n`).FindAllStringSubmatch(string(rows), -1) {
		if setting := strings.ReplaceAll(m[1], " ", "_"); !strings.Contains(m[0], "Switch") {
			words[setting+"_refused"], words[setting+"_ignored"] = true, true
		}
	}
	named := regexp.MustCompile(`\bInternal(?:Error)?\("([a-z_]+)"|\bFailureKind += "(far_[a-z_]+)"`)
	for _, wing := range []string{"cmd", "internal"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, wing), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				words[m[1]+m[2]] = true
			}
			return err
		}))
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "troubleshooting.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Each error\n")
	section, _, _ = strings.Cut(section, "\n## ")
	explained := map[string]bool{}
	for line := range strings.Lines(section) {
		if first, _, row := strings.Cut(strings.TrimPrefix(line, "| `"), " | "); row && strings.HasPrefix(line, "| `") {
			for word := range strings.SplitSeq("`"+first, ", ") {
				word = strings.Trim(word, "`")
				require.False(t, explained[word], "%s has two rows", word)
				explained[word] = true
			}
		}
	}
	require.Equal(t, words, explained)
}
