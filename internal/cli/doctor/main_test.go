package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/testing/fakedroid"
)

// envFake makes this test program a droid that behaves in this way.
const envFake = "DOCTOR_TEST_DROID"

func TestMain(m *testing.M) {
	if fake := os.Getenv(envFake); fake != "" && len(os.Args) > 1 {
		os.Exit(playDroid(fake))
	}
	os.Exit(underItsName(m))
}

// underItsName runs the tests with a PATH that has this program as droid-acp: commands in
// texts begin so.
func underItsName(m *testing.M) int {
	dir, err := os.MkdirTemp("", "doctor-test")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	name := "droid-acp"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err = errors.Join(err, os.Link(self, filepath.Join(dir, name)), os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))); err != nil {
		panic(err)
	}
	diagnosis.Program()
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// playDroid plays the droid that fake names.
func playDroid(fake string) int {
	version := fakedroid.V0225
	switch {
	case os.Args[1] == "--version" && (fake == "hung" || fake == "dead"):
		_, _ = io.Copy(io.Discard, os.Stdin) // until somebody kills it
		select {}
	case os.Args[1] == "--version" && fake == "broken":
		fmt.Fprintln(os.Stderr, "a library is missing\x1b[2J")
		return 3
	case os.Args[1] == "--version":
		fmt.Println("0.225.2")
		return 0
	case fake == "dying":
		fmt.Fprintln(os.Stderr, "no memory")
		return 9
	case fake == "mute" || fake == "dead":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case fake == "old":
		version = fakedroid.Unversioned
	case fake == "newer":
		version = "1.999.0"
	case fake == "older":
		version = fakedroid.V099
	case fake == "spy":
		spy()
	}
	return fakedroid.ExitCode(fakedroid.Run(os.Stdin, os.Stdout, fakedroid.EachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Say("", "Done.") }), fakedroid.WithVersion(version),
		fakedroid.WithAnswer("droid.initialize_session", func(params map[string]any) (any, string) { return openSession(fake, params) })))
}

// envSpy names a file to which the droid "spy" writes what it finds.
const envSpy = "DOCTOR_TEST_SPY"

func spy() {
	var files []string
	factory := filepath.Join(factoryHome(), ".factory")
	entries, _ := os.ReadDir(factory)
	for _, e := range entries {
		files = append(files, e.Name())
	}
	settings, _ := os.ReadFile(filepath.Join(factory, "settings.json"))
	data, _ := json.Marshal(map[string]any{"env": os.Environ(), "files": files, "settings": json.RawMessage(settings)})
	_ = os.WriteFile(os.Getenv(envSpy), data, 0o600)
}

// factoryHome is where a droid has its files.
func factoryHome() string {
	if override := os.Getenv("FACTORY_HOME_OVERRIDE"); override != "" {
		return override
	}
	return os.Getenv("HOME")
}

// openSession opens one as droid does, with a file in the store.
func openSession(fake string, params map[string]any) (any, string) {
	id, _ := params["sessionId"].(string)
	cwd, _ := params["cwd"].(string)
	if fake == "refusing" {
		return nil, "not today"
	}
	dir := filepath.Join(factoryHome(), ".factory", "sessions", strings.ReplaceAll(cwd, string(filepath.Separator), "-"))
	if os.MkdirAll(dir, 0o700) != nil {
		return nil, "no room"
	}
	_ = os.WriteFile(filepath.Join(dir, id+".jsonl"), fmt.Appendf(nil, `{"type":"session_start","id":%q,"title":"New Session","version":2,"cwd":%q}`+"\n", id, cwd), 0o600)
	_ = os.WriteFile(filepath.Join(dir, id+".settings.json"), []byte("{}"), 0o600)
	if fake == "mute-later" {
		return fakedroid.NoAnswer{}, ""
	}
	models := []any{map[string]any{"id": "gpt-5.6-sol", "displayName": "GPT-5.6 Sol", "modelProvider": "openai"}}
	model := "gpt-5.6-sol"
	if fake == "own" || fake == "both" {
		models = append(models, map[string]any{"id": "custom:Scripted-0", "displayName": "Scripted", "isCustom": true})
	}
	if fake == "own" {
		model = "custom:Scripted-0"
	}
	return map[string]any{"sessionId": id, "session": map[string]any{"messages": []any{}}, "settings": map[string]any{"modelId": model}, "availableModels": models}, ""
}

// shown is the report for people, as the command prints it.
func shown(r Report) string {
	text := r.Head()
	for _, c := range r.Checks {
		text += r.Line(c)
	}
	return text + r.Verdict()
}
