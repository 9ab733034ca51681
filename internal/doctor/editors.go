package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"droid-acp/internal/child"
	"droid-acp/internal/droid"
	"droid-acp/internal/files"
)

// editorFile is a configuration that names agents under "agent_servers".
type editorFile struct{ editor, path string }

// editorFiles are where Zed and the IDEs of JetBrains keep theirs. The configurations of
// Neovim and Emacs are programs and cannot be read.
func editorFiles(home string) []editorFile {
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	all := []editorFile{{"Zed", filepath.Join(config, "zed", "settings.json")}}
	switch runtime.GOOS {
	case "windows":
		all = []editorFile{{"Zed", filepath.Join(os.Getenv("APPDATA"), "Zed", "settings.json")}}
	case "darwin":
		all = []editorFile{{"Zed", filepath.Join(home, ".config", "zed", "settings.json")}}
	case "linux":
		all = append(all, editorFile{"Zed (Flatpak)", filepath.Join(home, ".var", "app", "dev.zed.Zed", "config", "zed", "settings.json")})
	}
	return append(all, editorFile{"JetBrains", filepath.Join(home, ".jetbrains", "acp.json")})
}

// agentServer is an entry of "agent_servers". Its environment may hold keys: only the
// place of droid is read from it.
type agentServer struct {
	Command command
	Args    []string
	Env     struct {
		Droid string `json:"DROID_ACP_DROID"`
	}
}

// command is a path, or an object with one (Zed before the autumn of 2025).
type command struct {
	Path string
	Args []string
}

// UnmarshalJSON takes both forms.
func (c *command) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.Path) == nil {
		return nil
	}
	type object command
	return json.Unmarshal(data, (*object)(c))
}

func lookAtEditors(p *patient, _ context.Context) Check {
	if !filepath.IsAbs(p.Home) {
		return Check{Result: Skipped, Found: "Your home directory is not known."}
	}
	var words, faults, todo, looked []string
	facts := []any{}
	for _, file := range editorFiles(p.Home) {
		looked = append(looked, file.path)
		servers, err := agentServers(file.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			faults, todo = append(faults, file.editor+": "+file.path+" cannot be read: "+plainly(err)), append(todo, "Correct "+file.path+".")
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			server := servers[name]
			if !server.isOurs() {
				continue
			}
			facts = append(facts, map[string]any{"editor": file.editor, "file": file.path, "name": name, "command": withoutArguments(server.Command.Path)})
			where := fmt.Sprintf("%s (agent %q in %s)", file.editor, name, file.path)
			fault, remedy := p.faultOf(server)
			if fault == "" {
				words = append(words, where+" starts "+withoutArguments(server.Command.Path))
				continue
			}
			faults, todo = append(faults, where+": "+fault), append(todo, remedy)
		}
	}
	check := warned(words, faults, todo, map[string]any{"agents": facts, "looked": looked})
	switch {
	case len(faults) > 0:
		check.Result = Failure
	case len(words) == 0:
		check.Result = Skipped
		check.Found = "No configuration of Zed or JetBrains names droid-acp (" + strings.Join(looked, ", ") + "). Other editors were not looked at."
		check.ToDo = "How to set up an editor is in docs/editors of the repository."
	}
	return check
}

// maxConfig is how large an editor's configuration may be, in bytes.
const maxConfig = 4 << 20

// maxBrackets is how many lists and objects it may open. hujson calls itself for each level,
// and ends the program where the stack does not suffice.
const maxBrackets = 100_000

// agentServers reads the agents of a configuration, which may have comments and commas
// behind the last entry, as Zed's.
func agentServers(path string) (map[string]agentServer, error) {
	data, err := files.Read(path, maxConfig)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(data)) == "" {
		return nil, nil
	}
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxBrackets {
		return nil, errors.New("it has too many brackets")
	}
	if data, err = hujson.Standardize(data); err != nil {
		return nil, errors.New("it is no JSON with comments")
	}
	var config struct {
		Servers map[string]json.RawMessage `json:"agent_servers"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, err
	}
	servers := make(map[string]agentServer)
	for name, entry := range config.Servers {
		var s agentServer
		if json.Unmarshal(entry, &s) == nil { // else it is another agent's matter
			servers[name] = s
		}
	}
	return servers, nil
}

// isOurs reports whether an entry starts droid-acp, itself or by npx.
func (s agentServer) isOurs() bool {
	for _, word := range append([]string{s.Command.Path}, s.arguments()...) {
		if strings.Contains(filepath.Base(strings.ReplaceAll(word, `\`, "/")), "droid-acp") {
			return true
		}
	}
	return false
}

func (s agentServer) arguments() []string { return append(s.Command.Args, s.Args...) }

// faultOf says what keeps an editor from starting the agent, "" for nothing.
func (p *patient) faultOf(s agentServer) (fault, remedy string) {
	path := p.expand(s.Command.Path)
	if strings.ContainsAny(path, `/\`) && !filepath.IsAbs(path) {
		return fmt.Sprintf("the command %q is no absolute path.", withoutArguments(s.Command.Path)), "Put " + p.Self + " in its place."
	}
	if _, err := child.Find(path); err != nil {
		return fmt.Sprintf("the command %q is not there.", withoutArguments(s.Command.Path)), "Put " + p.Self + " in its place."
	}
	named := map[string]string{"DROID_ACP_DROID": s.Env.Droid}
	args := s.arguments()
	for i, arg := range args {
		flag, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case flag != "droid" || !strings.HasPrefix(arg, "-"):
		case joined:
			named["--droid"] = value
		case i+1 < len(args):
			named["--droid"] = args[i+1]
		}
	}
	for _, setting := range []string{"--droid", "DROID_ACP_DROID"} {
		if named[setting] == "" {
			continue
		}
		if _, err := droid.Find(named[setting]); err != nil {
			return fmt.Sprintf("the droid %q of %s is not there.", named[setting], setting), "Correct " + setting + ", or leave it out so that droid is looked for."
		}
	}
	return "", ""
}

// expand puts the home directory in the place of "~", as Zed does.
func (p *patient) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.Home, rest)
	}
	return path
}
