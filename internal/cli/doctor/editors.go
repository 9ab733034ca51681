package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/layer"
	"droid-acp/internal/sys/child"
	"droid-acp/internal/sys/files"
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

func lookAtEditors(p *inspection, _ context.Context) Check {
	var words, others, faults, todo, looked []string
	facts := []any{}
	for _, file := range editorFiles(p.Home) {
		looked = append(looked, file.path)
		servers, err := agentServers(file.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			faults, todo = append(faults, file.editor+": "+file.path+" cannot be read: "+plainly(err)), append(todo, "Correct it there.")
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			server := servers[name]
			run := server.run(p.Home)
			where := fmt.Sprintf("%s (agent %q in %s)", file.editor, name, file.path)
			if other := run.other(); other != "" {
				others = append(others, where+" starts "+other+", which is another program.")
			}
			if !run.isOurs() {
				continue
			}
			facts = append(facts, map[string]any{"editor": file.editor, "file": file.path, "name": name, "command": withoutArguments(server.Command.Path)})
			fault, key, remedy := p.faultOf(server, run)
			if fault == "" {
				words = append(words, where+" starts "+withoutArguments(run.program))
				continue
			}
			at := []string{"agent_servers", name, key}
			if key == envDroid {
				at = []string{"agent_servers", name, "env", key}
			}
			faults = append(faults, fmt.Sprintf("%s (%s): %s", file.editor, place(file.path, at...), fault))
			todo = append(todo, remedy)
		}
	}
	check := warned(words, faults, todo, map[string]any{"agents": facts, "looked": looked})
	switch {
	case len(faults) > 0:
		check.Result = Failure
	case len(words) == 0:
		check.Result = Skipped
		check.Found = strings.TrimSpace(strings.Join(others, " ") + " No configuration of Zed or JetBrains starts this droid-acp (" + strings.Join(looked, ", ") + "). Other editors were not looked at.")
		check.ToDo = "How to set up an editor is in docs/editors of the repository."
	}
	return check
}

// maxConfig is how large an editor's configuration may be, in bytes.
const maxConfig = 4 << 20

// maxBrackets is how many lists and objects it may open. hujson calls itself for each level,
// and ends the program where the stack does not suffice.
const maxBrackets = 100_000

// parse reads a file of JSON that may have comments and commas behind the last entry, as
// Zed's; "" is null.
func parse(path string) (data []byte, value hujson.Value, err error) {
	if data, err = files.Read(path, maxConfig); err != nil {
		return nil, value, err
	}
	if strings.TrimSpace(string(data)) == "" {
		return data, hujson.Value{Value: hujson.Literal("null")}, nil
	}
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxBrackets {
		return nil, value, errors.New("it has too many brackets")
	}
	if value, err = hujson.Parse(data); err != nil {
		what := "it is no JSON with comments"
		if at := position().FindString(err.Error()); at != "" {
			what = at + ": this is no JSON with comments"
		}
		return nil, value, errors.New(what)
	}
	return data, value, nil
}

// position is how hujson tells where an error is.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`line \d+, column \d+`) })

// place names a key of a file of JSON, and where its value is.
func place(path string, keys ...string) string {
	pointer, words := "", slices.Clone(keys)
	for i, key := range keys {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		if !simple().MatchString(key) {
			words[i] = strconv.Quote(key)
		}
	}
	data, value, err := parse(path)
	if err != nil {
		return path
	}
	found := value.Find(pointer)
	if found == nil {
		return path
	}
	line, column := layer.Position(data, found.StartOffset)
	return fmt.Sprintf("%s, line %d, column %d: %s", path, line, column, strings.Join(words, "."))
}

// simple is a key that needs no quotes.
var simple = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w-]+$`) })

// agentServers reads the agents of an editor's configuration.
func agentServers(path string) (map[string]agentServer, error) {
	_, value, err := parse(path)
	if err != nil {
		return nil, err
	}
	value.Standardize()
	var config struct {
		Servers map[string]json.RawMessage `json:"agent_servers"`
	}
	if err := json.Unmarshal(value.Pack(), &config); err != nil {
		return nil, errors.New("it is no JSON object")
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

// launch is what an editor runs in the end.
type launch struct {
	program string   // as the file has it
	path    string   // the same with the home directory in the place of "~"
	pack    string   // the npm package that the program is to run, "" for none
	args    []string // of it
}

// fetchers run npm packages, some of them behind one of fetchWords.
var fetchers, fetchWords = []string{"npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun"}, []string{"exec", "x", "dlx"}

// run finds what is run behind "env" and programs that run npm packages.
func (s agentServer) run(home string) launch {
	l := launch{program: s.Command.Path, args: slices.Concat(s.Command.Args, s.Args)}
	for base(l.program) == "env" && len(l.args) > 0 {
		first := slices.IndexFunc(l.args, func(arg string) bool { return !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") })
		if first < 0 {
			break
		}
		l.program, l.args = l.args[first], l.args[first+1:]
	}
	named := slices.IndexFunc(l.args, func(arg string) bool { return !strings.HasPrefix(arg, "-") && !slices.Contains(fetchWords, arg) })
	switch {
	case named >= 0 && slices.Contains(fetchers, base(l.program)):
		l.pack, l.args = l.args[named], l.args[named+1:]
		if version := strings.LastIndex(l.pack, "@"); version > 0 {
			l.pack = l.pack[:version]
		}
	case base(l.program) == "node" && len(l.args) > 0:
		l.pack, l.args = packageOf(l.args[0]), l.args[1:]
	}
	l.path = l.program
	if rest, ok := strings.CutPrefix(l.program, "~/"); ok { // as Zed has it
		l.path = filepath.Join(home, rest)
	}
	return l
}

// base is the name of a program without its directory and ".exe" or ".cmd".
func base(program string) string {
	name := strings.ToLower(program[strings.LastIndexAny(program, `/\`)+1:])
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
}

// packageOf is the npm package in which a file is, "" for none.
func packageOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	path = filepath.ToSlash(path)
	i := strings.LastIndex(path, "/node_modules/")
	if i < 0 {
		return ""
	}
	parts := strings.Split(path[i+len("/node_modules/"):], "/")
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// others are npm packages of this name that are other projects'. This one's has a scope.
var others = []string{"droid-acp", "@yaonyan/droid-acp"}

// maxProgram is how large a program may be that is looked into, in bytes.
const maxProgram = 64 << 20

// other names another project's program that is run and has this name, "" for none.
func (l launch) other() string {
	pack := l.pack
	found, err := child.Find(l.path)
	if pack == "" && err == nil {
		pack = packageOf(found)
	}
	if slices.Contains(others, pack) {
		return "the npm package " + pack
	}
	if pack != "" || err != nil {
		return ""
	}
	// What debug/buildinfo does, which would make the program 340 kB larger.
	data, err := files.Read(found, maxProgram)
	ours, ok := debug.ReadBuildInfo()
	if err == nil && ok && bytes.Contains(data, []byte("\xff Go buildinf:")) && !bytes.Contains(data, []byte("mod\t"+ours.Main.Path+"\t")) {
		return "a Go program of another module"
	}
	return ""
}

// isOurs reports whether droid-acp is run, as far as can be told.
func (l launch) isOurs() bool {
	name := cmp.Or(l.pack, strings.TrimSuffix(withoutArguments(l.program), "…"))
	return base(name) == "droid-acp" && l.other() == ""
}

// envDroid is the setting of an entry's environment that is read.
const envDroid = droid.EnvDroid

// faultOf says what keeps an editor from starting the agent, "" for nothing, and the key
// that has it.
func (p *inspection) faultOf(s agentServer, l launch) (fault, key, remedy string) {
	put := "Put " + p.Self + " in its place."
	if strings.ContainsAny(l.path, `/\`) && !filepath.IsAbs(l.path) {
		return fmt.Sprintf("the command %q is no absolute path.", withoutArguments(l.program)), "command", put
	}
	if _, err := child.Find(l.path); err != nil {
		return fmt.Sprintf("the command %q is not there.", withoutArguments(l.program)), "command", put
	}
	named := ""
	for i, arg := range l.args {
		flag, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case flag != "droid" || !strings.HasPrefix(arg, "-"):
		case joined:
			named = value
		case i+1 < len(l.args):
			named = l.args[i+1]
		}
	}
	for _, set := range []struct{ name, value, key string }{{"--droid", named, "args"}, {envDroid, s.Env.Droid, envDroid}} {
		if set.value == "" {
			continue
		}
		if _, err := droid.Find(set.value); err != nil {
			return fmt.Sprintf("the droid %q of %s is not there.", set.value, set.name), set.key, "Correct " + set.name + ", or leave it out so that droid is looked for."
		}
	}
	return "", "", ""
}
