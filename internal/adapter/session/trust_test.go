package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/workspace/trust"
)

// trustRoom is an editor in a project, whose agent asks whether it may run the project's configuration.
type trustRoom struct {
	*editor
	dir, home, file string
	keeper          *trust.Store

	turn     fakedroid.Script // of the next droids, for what is not said back
	mu       sync.Mutex
	settings []string  // of each process, as they were last
	stdin    io.Closer // of the last droid
}

// inProject is a trustRoom whose project has these files, with a droid of this version.
func inProject(t *testing.T, v fakedroid.Version, files map[string]string, options ...fakedroid.Option) *trustRoom {
	t.Helper()
	return inProjectAs(t, asZed, v, files, options...)
}

// inProjectAs is inProject for a client with this clientInfo, as a member of initialize's params.
func inProjectAs(t *testing.T, info string, v fakedroid.Version, files map[string]string, options ...fakedroid.Option) *trustRoom {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &trustRoom{dir: filepath.Join(base, "project"), home: filepath.Join(base, "home")}
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, ".git"), 0o755))
	require.NoError(t, os.Mkdir(r.home, 0o755))
	t.Setenv("HOME", r.home)
	t.Setenv("USERPROFILE", r.home)
	for name, text := range files {
		r.write(t, name, text)
	}
	r.file = filepath.Join(base, "trust.json")
	r.keeper = trust.New(trust.Options{Home: r.home, File: r.file})
	script := eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		if r.turn != nil {
			return r.turn(d)
		}
		return d.Say("", "droid got "+p.Text)
	})
	store := new(fakedroid.Sessions)
	r.editor = openAt(t, r.dir, func(n int) (*droid.Client, error) {
		stdout, stdin := fakedroid.Start(script, append(options, fakedroid.WithVersion(v), fakedroid.WithSessions(store))...)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.settings, r.stdin = append(r.settings, ""), stdin
		number := len(r.settings) - 1
		return droid.NewClientWithSettings(stdout, stdin, func(data []byte) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.settings[number] = string(data)
			return nil
		}, zap.NewNop()), nil
	}, zap.NewNop())
	r.agent.Config.Trust = r.keeper
	r.agent.Launcher.Stat = os.Stat
	require.Nil(t, r.call("initialize", `{"protocolVersion":1,"clientCapabilities":{},`+info+`}`).Error)
	return r
}

// die ends the last droid, as a crash does.
func (r *trustRoom) die() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.stdin.Close() // a pipe's
}

// write makes a file of the project, or of the user where the name begins with "~/".
func (r *trustRoom) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if own, ok := strings.CutPrefix(name, "~/"); ok {
		path = filepath.Join(r.home, filepath.FromSlash(own))
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
}

func (r *trustRoom) newSession() wireMessage {
	r.t.Helper()
	answer := r.call("session/new", `{"cwd":`+quoted(r.dir)+`,"mcpServers":[]}`)
	if answer.Error == nil {
		r.session = r.sessionOf(answer)
	}
	r.settle()
	return answer
}

// last are the settings of the process that was started last.
func (r *trustRoom) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings[len(r.settings)-1]
}

// questions counts how often the editor was asked whether the project is trusted.
func (r *trustRoom) questions() (n int) {
	for _, m := range r.received() {
		if m.Method == "session/request_permission" && strings.Contains(string(m.Params), "Trust this project?") {
			n++
		}
	}
	return n
}

// leftOut is in the settings of a process that someServer is left out of.
const leftOut = `"s":{"command":"false","disabled":true`

const someServer = `{"mcpServers":{"s":{"command":"evil","args":["x"]}}}`

func bothVersions(t *testing.T, test func(t *testing.T, v fakedroid.Version)) {
	for name, v := range map[string]fakedroid.Version{"0.99": fakedroid.V099, "0.225": fakedroid.V0225} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, v) }) })
	}
}

func TestFirstPromptAsksForTrust(t *testing.T) {
	bothVersions(t, func(t *testing.T, v fakedroid.Version) {
		r := inProject(t, v, map[string]string{".factory/mcp.json": someServer})
		var options []string
		r.ask = func(p permission) string {
			options = nil
			for _, o := range p.Options {
				options = append(options, o.Name)
			}
			return "trust"
		}
		require.Nil(t, r.newSession().Error)
		require.Contains(t, r.told(), "Left out until you trust this project: 1 MCP server. Your first prompt asks")
		require.Contains(t, r.last(), `"mcpPolicy":{"allowlist":[],"enabled":true}`)
		require.Contains(t, r.last(), `"s":{"command":"false","disabled":true`)
		require.Zero(t, r.questions())
		require.Equal(t, "end_turn", r.run("hello"))
		require.Equal(t, 1, r.questions())
		require.Equal(t, []string{"No, go on without it", "Yes, trust this project", "No, cancel this prompt"}, options)
		require.NotContains(t, r.last(), leftOut, "another process has it all")
		require.Contains(t, r.told(), "droid got hello")
		require.Equal(t, "end_turn", r.run("again"))
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("hello"))
		require.Equal(t, 1, r.questions())
		require.NotContains(t, r.last(), leftOut)
	})
}

// TestMCPSaysWhatIsLeftOut: /mcp says of a server that it is left out and what lets it run, in place of what
// droid was given for that.
func TestMCPSaysWhatIsLeftOut(t *testing.T) {
	for _, mode := range []trust.Mode{trust.Ask, trust.Never} {
		synctest.Test(t, func(t *testing.T) {
			servers := fakedroid.WithAnswer("droid.list_mcp_servers", func(map[string]any) (any, string) {
				return fakedroid.Fields{"servers": []any{
					fakedroid.Fields{"name": "s", "status": "disabled"}, fakedroid.Fields{"name": "late", "status": "connecting"},
					fakedroid.Fields{"name": "mine", "status": "disabled"}, fakedroid.Fields{"name": "works", "status": "connected"},
				}}, ""
			})
			r := inProject(t, fakedroid.V0225, map[string]string{
				".factory/mcp.json": `{"mcpServers":{"s":{"command":"evil"},"late":{"command":"evil"},"works":{"command":"evil"}}}`}, servers,
				answering("list_mcp_tools", fakedroid.Fields{"tools": []any{}}))
			left := "left out; `/trust yes` lets it run"
			if mode == trust.Never {
				r.keeper = trust.New(trust.Options{Home: r.home, File: r.file, Mode: trust.Never})
				r.agent.Config.Trust, left = r.keeper, "left out, since the agent was started with `--trust never`"
			}
			require.Nil(t, r.newSession().Error)
			require.Equal(t, "end_turn", r.run("/mcp"))
			require.Contains(t, r.told(), "- s: "+left+"\n- late: "+left+"\n- mine: disabled\n- works: connected\n")
		})
	}
}

// Who answers by an option's kind or place, or not at all, trusts nothing; the prompt goes
// on without.
func TestNobodyTrustsByKindOrPlace(t *testing.T) {
	pick := func(kind string, last bool) func(permission) string {
		return func(p permission) string {
			found := ""
			for _, o := range p.Options {
				if (kind == "" || o.Kind == kind) && (found == "" || last) {
					found = o.OptionID
				}
			}
			return found
		}
	}
	answers := map[string]func(permission) string{
		"cancelled":  func(permission) string { return "" },
		"an unknown": func(permission) string { return "allow" },
	}
	for _, kind := range []string{"", "allow_once", "allow_always", "reject_once", "reject_always"} {
		answers["first "+kind], answers["last "+kind] = pick(kind, false), pick(kind, true)
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := inProjectAs(t, asNamed("an editor of the future"), fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
				r.ask = answer
				require.Nil(t, r.newSession().Error)
				require.Equal(t, "end_turn", r.run("hello"))
				require.Contains(t, r.told(), "The project was not trusted: only *Yes, trust this project* counts")
				require.Contains(t, r.told(), "droid got hello")
				require.Contains(t, r.last(), leftOut)
				require.Equal(t, "end_turn", r.run("again"))
				require.Nil(t, r.newSession().Error)
				require.Equal(t, "end_turn", r.run("hello"))
				require.Equal(t, 2, r.questions(), "not now holds for the session")
				require.False(t, r.keeper.Check(r.dir).Trusted)
			})
		})
	}
}

func asNamed(name string) string { return `"clientInfo":{"name":` + quoted(name) + `,"version":"1"}` }

// The items that would run come last in the text of the question. A client that is known to show option names gets two choices and the
// cancel, without explanations; the first by kind or position, and the last by position, is not a yes.
func TestTrustWhereNamesShow(t *testing.T) {
	last := "MCP server `s`: `evil x` (in `.factory/mcp.json`)"
	for _, client := range []string{"zed", "vscode-acp-client", "agent-shell"} {
		for picked, stop := range map[string]string{"not-now-go-on": "end_turn", "": "end_turn", "cancel-prompt": "cancelled"} {
			synctest.Test(t, func(t *testing.T) {
				r := inProjectAs(t, asNamed(client), fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
				require.Nil(t, r.newSession().Error)
				require.NotContains(t, r.messages(), last, "only the question has the list")
				r.ask = func(p permission) string {
					require.Equal(t, []string{"allow_once", "allow_once", "reject_once"}, []string{p.Options[0].Kind, p.Options[1].Kind, p.Options[2].Kind})
					require.Equal(t, "Yes, trust this project", p.Options[1].Name)
					shown := *p.ToolCall.Content[0].Content.Text
					if client == "vscode-acp-client" {
						shown = r.messages()
					}
					require.True(t, strings.HasSuffix(strings.TrimSpace(shown), last), shown)
					require.NotContains(t, shown, "Accept")
					return picked
				}
				require.Equal(t, stop, r.run("hello"))
				told := r.messages()
				require.NotContains(t, told, "Some clients")
				require.NotContains(t, told, "was not trusted")
				require.Contains(t, r.told(), "Not trusted: /trust yes lets it run")
				require.False(t, r.keeper.Check(r.dir).Trusted)
				require.Equal(t, picked != "cancel-prompt", strings.Contains(told, "droid got hello"))
				r.ask = func(permission) string { return "not-now-go-on" }
				require.Equal(t, "end_turn", r.run("again"))
				want := 1
				if picked == "cancel-prompt" {
					want = 2 // it was no answer
				}
				require.Equal(t, want, r.questions())
			})
		}
	}
}

// A client that is known to show no names of options is not asked: one line, once, says what to type. What the project brings later is
// mentioned, too.
func TestTrustWhereNoNamesShow(t *testing.T) {
	for _, client := range []string{"CodeCompanion.nvim", "acpx"} {
		synctest.Test(t, func(t *testing.T) {
			r := inProjectAs(t, asNamed(client), fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
			require.Nil(t, r.newSession().Error)
			require.Equal(t, "end_turn", r.run("hello"))
			require.Equal(t, "end_turn", r.run("again"))
			require.Zero(t, r.questions())
			require.Equal(t, 1, strings.Count(r.messages(), "/trust"), r.messages())
			require.Contains(t, r.messages(), "`/trust yes` lets it run")
			require.NotContains(t, r.messages(), "asks")
			r.write(t, ".factory/mcp.json", `{"mcpServers":{"t":{"command":"worse"}}}`)
			require.Equal(t, "end_turn", r.run("more"))
			require.Equal(t, "end_turn", r.run("and more"))
			require.Zero(t, r.questions())
			require.Equal(t, 1, strings.Count(r.messages(), "worse"), r.messages())
			require.Equal(t, "end_turn", r.run("/trust yes"))
			require.Equal(t, "end_turn", r.run("hello"))
			require.NotContains(t, r.last(), leftOut)
		})
	}
}

// A client that shows nothing before its first prompt learns with that what was left out; if the prompt asks for trust, the question has
// the list.
func TestLeftOutIsToldWithThePrompt(t *testing.T) {
	for client, asks := range map[string]bool{"CodeCompanion.nvim": false, "vscode-acp-client": true} {
		for _, mode := range []trust.Mode{trust.Ask, trust.Never} {
			synctest.Test(t, func(t *testing.T) {
				r := inProjectAs(t, asNamed(client), fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
				r.agent.Config.Trust = trust.New(trust.Options{Home: r.home, File: r.file, Mode: mode})
				r.ask = func(permission) string { return "not-now-go-on" }
				require.Nil(t, r.newSession().Error)
				require.NotContains(t, r.messages(), "evil", "nobody would see it")
				require.Equal(t, "end_turn", r.run("hello"))
				require.Equal(t, "end_turn", r.run("again"))
				told, _, _ := strings.Cut(r.messages(), "droid got hello")
				require.Equal(t, 1, strings.Count(told, "evil"), told)
				require.Equal(t, !asks || mode == trust.Never, strings.Contains(told, "Left out until"), told)
				require.Equal(t, 1, strings.Count(r.messages(), "evil"), r.messages())
			})
		}
	}
}

// A warning that waits for a prompt is also shown with a command; after a yes, the warning that trust is missing no longer applies.
func TestWhatWaitsComesWithACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProjectAs(t, asNamed("CodeCompanion.nvim"), fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("/trust yes"))
		require.Regexp(t, `(?s)Left out until.*Trusted, and remembered`, r.messages())
		require.Equal(t, "end_turn", r.run("hello"))
		require.Equal(t, 1, strings.Count(r.messages(), "Left out until"), r.messages())
	})
}

// A prompt that is cancelled while its user is asked has given no answer. One who never
// answers is waited for until trustTime.
func TestTrustIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.Nil(t, r.newSession().Error)
		r.ask = nil
		id := r.prompt("hello")
		r.until("the question", func() bool { return r.questions() == 1 })
		r.cancel()
		require.Equal(t, "cancelled", ended(r.await(id)))
		for told := r.received(); len(told) > 0; told = told[1:] {
			require.False(t, told[0].Method == "" && string(told[0].ID) == id && len(told) > 1, "some clients hear nothing behind the response")
		}
		require.NotContains(t, r.told(), "not trusted:")
		id = r.prompt("hello")
		r.until("the question", func() bool { return r.questions() == 2 })
		time.Sleep(session.TrustTime)
		require.Equal(t, "end_turn", ended(r.await(id)))
		require.Contains(t, r.told(), "nobody answered within ten minutes")
	})
}

// TestDroidDiesOverTheTrustQuestion: the prompt is prepared again and asks again; the first question ends before that.
func TestDroidDiesOverTheTrustQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.Nil(t, r.newSession().Error)
		r.ask = nil
		id := r.prompt("hello")
		r.until("the question", func() bool { return r.questions() == 1 })
		r.inside(func(s *session.Session) { s.Process().Client().Kill() })
		r.until("the next question", func() bool { return r.questions() == 2 })
		var calls []string
		for _, u := range r.updates() {
			if strings.HasPrefix(u, "tool_call") {
				calls = append(calls, strings.Fields(u)[2])
			}
		}
		require.Equal(t, []string{"pending", "completed", "pending"}, calls)
		r.cancel()
		require.Equal(t, "cancelled", ended(r.await(id)))
	})
}

// A yes that the disk keeps slowly, while its prompt is cancelled, takes no later question with it: who asked that
// would wait for ever.
func TestYesOfACancelledPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.Nil(t, r.newSession().Error)
		keeps := make(chan struct{})
		r.agent.Calls.BeforeCall = func(c files.CallName) {
			if c == "Trust.Trust" {
				<-keeps
			}
		}
		r.ask = func(permission) string { return "trust" }
		first := r.prompt("hello")
		r.settle()
		r.ask = nil
		r.cancel()
		require.Equal(t, "cancelled", ended(r.await(first)))
		second := r.prompt("again")
		r.until("the question", func() bool { return r.questions() == 2 })
		close(keeps)
		r.settle()
		require.NotContains(t, methods(r.editor), "$/cancel_request")
		require.NotContains(t, r.told(), session.NotTrusted)
		require.Contains(t, r.told(), "Trusted")
		time.Sleep(session.TrustTime)
		require.Equal(t, "end_turn", ended(r.await(second)))
	})
}

// If droid cannot exclude an item, the session does not open, and the error says what to do.
func TestProjectsThatDroidCannotLeaveOut(t *testing.T) {
	hooks := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./h"}]}]}}`
	for name, tc := range map[string]struct {
		v     fakedroid.Version
		files map[string]string
		want  string // of the error; "" for none
	}{
		"a setting":              {fakedroid.V0225, map[string]string{".factory/settings.json": `{"env":{"X":"y"}}`}, "nothing overrules"},
		"a damaged file":         {fakedroid.V0225, map[string]string{".factory/settings.json": `{`}, "nothing overrules"},
		"hooks, and the user's":  {fakedroid.V0225, map[string]string{".factory/settings.json": hooks, "~/.factory/settings.json": hooks}, "only together with your own"},
		"hooks":                  {fakedroid.V0225, map[string]string{".factory/settings.json": hooks}, ""},
		"models":                 {fakedroid.V0225, map[string]string{".factory/config.json": `{"custom_models":[{}]}`}, "nothing overrules"},
		"hooks of old droids":    {fakedroid.V099, map[string]string{".factory/settings.json": hooks, "~/.factory/settings.json": hooks}, ""},
		"the user's are damaged": {fakedroid.V0225, map[string]string{".factory/settings.json": hooks, "~/.factory/mcp.json": "{"}, "cannot be read"},
		"an old droid":           {fakedroid.Unversioned, map[string]string{".factory/mcp.json": someServer}, "cannot be started without"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := inProject(t, tc.v, tc.files)
				answer := r.newSession()
				if tc.want == "" {
					require.Nil(t, answer.Error)
					return
				}
				require.NotNil(t, answer.Error)
				text := allOf(answer.Error)
				require.Contains(t, text, tc.want)
				require.Contains(t, text, diagnosis.Command("trust", "--yes", r.dir), "as it can be typed where the PATH has no droid-acp")
				require.NoError(t, r.keeper.Trust(r.keeper.Check(r.dir)))
				require.Nil(t, r.newSession().Error)
			})
		})
	}
}

// Before 0.215 the user's own hooks stay, and every event of the project's is replaced.
func TestUsersHooksStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := func(command string) string {
			return fmt.Sprintf(`{"hooks":{"PreToolUse":[{"matcher":"Execute","hooks":[{"type":"command","command":%q}]}]}}`, command)
		}
		r := inProject(t, fakedroid.V099, map[string]string{".factory/settings.json": hook("./evil"), "~/.factory/settings.json": hook("./guard")})
		require.Nil(t, r.newSession().Error)
		var settings struct {
			Hooks map[string][]json.RawMessage `json:"hooks"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.last()), &settings))
		require.Len(t, settings.Hooks, 9)
		require.Contains(t, string(settings.Hooks["PreToolUse"][0]), "./guard")
		require.NotContains(t, r.last(), "evil")
		for event, list := range settings.Hooks {
			require.Len(t, list, 1, event)
		}
	})
}

// Project settings that let things run without asking are overridden. Commands that the user allows permanently need a permission again,
// since they may run the project's files.
func TestSettingsOfAProjectAreOverruled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{
			".factory/settings.json":   `{"commandAllowlist":["touch","ls"],"sessionDefaultSettings":{"autonomyLevel":"high"}}`,
			".factory/mcp.json":        `{"mcpServers":{"mine":{"command":"evil"},"other":{"command":"evil"}}}`,
			"~/.factory/settings.json": `{"commandAllowlist":["ls"],"sessionDefaultSettings":{"autonomyMode":"auto-low"}}`,
			"~/.factory/mcp.json":      `{"mcpServers":{"mine":{"command":"npx","args":["good-server"]},"web":{"type":"http","url":"https://mcp.test/x"}}}`,
		})
		require.Nil(t, r.newSession().Error)
		require.JSONEq(t, `{"mcp":{"mcpServers":{"mine":{"command":"npx","args":["good-server"]},"other":{"type":"stdio","command":"false","disabled":true}}},
			"mcpPolicy":{"enabled":true,"allowlist":["good-server","mcp.test"]},"commandDenylist":["ls","touch"],
			"sessionDefaultSettings":{"autonomyLevel":"low","autonomyMode":"auto-low","interactionMode":"auto"},
			"autonomyLevel":"low","autonomyMode":"auto-low","interactionMode":"auto"}`, r.last())
		require.Equal(t, "end_turn", r.run("/permissions"))
		require.Contains(t, strings.Join(r.updates(), "\n"), "By droid-acp, as you have not trusted this project:\n\n- asked about: `ls`\n- asked about: `touch`")
	})
}

func TestTrustCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		r.ask = allowOnce // not now
		require.Nil(t, r.newSession().Error)
		say := func(text, want string) {
			t.Helper()
			require.Equal(t, "end_turn", r.run(text))
			require.Contains(t, r.updates()[len(r.updates())-1]+r.told(), want)
		}
		say("/trust", "It is not trusted, so this is left out")
		say("/trust maybe", "It takes: yes or no.")
		say("/trust yes", "Trusted, and remembered for")
		require.Equal(t, "end_turn", r.run("hello"))
		require.Zero(t, r.questions())
		require.NotContains(t, r.last(), leftOut)
		say("/trust", "It is trusted; ")
		say("/trust no", "Forgotten.")
		require.Equal(t, "end_turn", r.run("hello"))
		require.Equal(t, 1, r.questions())
		require.Contains(t, r.last(), leftOut)
		say("/trust no", "Nothing was remembered")
		require.Equal(t, "end_turn", r.run("hello"))
		require.Equal(t, 2, r.questions(), "whoever takes back what they said is asked again")
	})
}

// A command that is a program of the project is not given to droid, which would run it.
func TestProgramsOfAProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/commands/Big Deploy.sh": "#!/bin/sh\n", ".factory/commands/greet.md": "Hello"})
		r.ask = allowOnce // not now
		require.Nil(t, r.newSession().Error)
		for _, text := range []string{"/big-deploy", "/BIG-DEPLOY now", "  /big-deploy"} {
			answer := r.await(r.prompt(text))
			require.NotNil(t, answer.Error, text)
			require.Contains(t, allOf(answer.Error), "is a program of this project", text)
		}
		require.Equal(t, "end_turn", r.run("deploy"))
	})
}

// What the user says with a refusal does not run a program of the project, either.
func TestRefusalThatNamesAProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProjectAs(t, `"clientCapabilities":`+formClient+`,`+asZed, fakedroid.V0225, map[string]string{".factory/commands/big-deploy.sh": "#!/bin/sh\n"})
		turns := 0
		r.turn = func(d *fakedroid.Droid) error {
			if turns++; turns > 1 {
				return d.Say("", "got it")
			}
			return d.Use("", "", touch)
		}
		r.ask, r.onForm = refuseWithWords, sayWhy("/big-deploy does that")
		require.Nil(t, r.newSession().Error)
		r.await(r.prompt("go"))
		require.Equal(t, 1, turns)
		require.Contains(t, r.told(), "did not reach the model: /big-deploy does that")
	})
}

// TestCustomCommandsOfAProject checks that none takes the place of a command of ours that takes something from droid.
func TestCustomCommandsOfAProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"mode", "trust", "permissions", "mcp", "skills"}
		files := map[string]string{".factory/commands/usage.md": "Say nothing."}
		for _, name := range names {
			files[".factory/commands/"+name+".md"] = "Say nothing."
		}
		r := inProject(t, fakedroid.V0225, files, fakedroid.WithAnswer("droid.list_commands", func(map[string]any) (any, string) {
			var all []fakedroid.Fields
			for _, name := range append(names, "usage") {
				all = append(all, fakedroid.Fields{"name": name, "description": "the project's"})
			}
			return fakedroid.Fields{"commands": all}, ""
		}))
		r.ask = allowOnce // not now
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("hello"))
		time.Sleep(time.Minute)
		for _, name := range names {
			r.run("/" + name)
			require.NotContains(t, r.told(), "droid got /"+name)
		}
		r.run("/usage")
		require.Contains(t, r.told(), "droid got /usage", "other commands of ours give way")
		offered := string(r.lastUpdate("available_commands_update"))
		for _, name := range names {
			require.Equal(t, 1, strings.Count(offered, `"name":"`+name+`"`), offered)
		}
	})
}

// An item that droid ignores neither asks for trust nor starts another droid.
func TestHarmlessForThisDroid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{"bunfig.toml": "preload = [\"./x.ts\"]", ".factory/settings.json": `{"enableHooks":true}`,
			"~/.factory/settings.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./mine"}]}]}}`})
		require.Nil(t, r.newSession().Error)
		started := len(r.settings)
		require.Equal(t, "end_turn", r.run("hello"))
		require.Equal(t, "end_turn", r.run("again"))
		require.Len(t, r.settings, started)
		require.Zero(t, r.questions())
		require.NotContains(t, r.told(), "left out")
		require.NotContains(t, r.last(), "hooksDisabled")
	})
}

// Items that this droid ignores are not listed, and are not covered by the user's yes. Another droid asks about them.
func TestOnlyWhatThisDroidTakesIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{"bunfig.toml": "x", ".factory/settings.json": `{"enableHooks":true}`, ".factory/mcp.json": someServer}
		r := inProject(t, fakedroid.V0225, files)
		asked := ""
		r.ask = func(p permission) string {
			asked = *p.ToolCall.Content[0].Content.Text
			return "trust"
		}
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("hello"))
		require.Contains(t, asked, "`evil x`")
		require.NotContains(t, asked, "bunfig")
		require.NotContains(t, asked, "enableHooks")
		require.NotContains(t, r.last(), leftOut, "the server runs")
		require.Equal(t, "end_turn", r.run("again"))
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("hello"))
		require.NotContains(t, r.last(), leftOut)
		require.Equal(t, 1, r.questions())
		require.Equal(t, "end_turn", r.run("/trust"))
		require.NotContains(t, r.told(), "bunfig")
		require.False(t, r.keeper.Check(r.dir).Trusted)
		require.True(t, r.keeper.Check(r.dir).TrustedByVersion())
		require.Equal(t, "end_turn", r.run("/trust no"))
		require.False(t, r.keeper.Check(r.dir).TrustedByVersion())
	})
}

// The program of a server is named that is not there, also where the project or the user has the server in a file.
func TestServerWithoutItsProgram(t *testing.T) {
	bothVersions(t, func(t *testing.T, v fakedroid.Version) {
		r := inProject(t, v, map[string]string{
			".factory/mcp.json":   `{"mcpServers":{"theirs":{"command":"no-such-program-theirs"},"both":{"command":"no-such-program-x"},"there":{"command":"go"},"apart":{"command":"no-such-program-y","env":{"PATH":"/opt"}}}}`,
			"~/.factory/mcp.json": `{"mcpServers":{"mine":{"command":"no-such-program-mine"},"both":{"command":"no-such-program-z"},"web":{"url":"https://mcp.test"}}}`,
		})
		require.Nil(t, r.newSession().Error)
		var failed []stream.MCPServerStatus
		for _, name := range []string{"theirs", "mine", "both", "there", "apart", "web"} {
			failed = append(failed, stream.MCPServerStatus{Name: name, Status: "failed", Error: "Failed to connect to MCP server"})
		}
		r.hear(failed...)
		r.settle()
		r.ask = allowOnce // not now
		require.Equal(t, "end_turn", r.run("hello"))
		for name, want := range map[string]string{"theirs": "cannot start: ", "mine": "cannot start: ", "both": "could not connect", "there": "could not connect", "apart": "could not connect", "web": "could not connect"} {
			require.Contains(t, r.messages(), "The MCP server "+name+" "+want)
		}
		require.Contains(t, r.messages(), "no-such-program-theirs")
		require.NotContains(t, r.messages(), `exec: "no-such-program-x"`)
	})
}

// Revoking trust in one session applies to all sessions of the project, from their next prompts.
func TestTrustTakenBackInAnotherSession(t *testing.T) {
	bothVersions(t, func(t *testing.T, v fakedroid.Version) {
		r := inProject(t, v, map[string]string{".factory/mcp.json": someServer})
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("/trust yes"))
		require.Contains(t, r.told(), "You had not been shown all of this")
		require.Equal(t, "end_turn", r.run("/trust yes"))
		first := r.session
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("hello"))
		require.NotContains(t, r.last(), leftOut)
		second := r.session
		r.session = first
		require.Equal(t, "end_turn", r.run("/trust no"))
		r.session, r.ask = second, func(permission) string { return "" }
		require.Equal(t, "end_turn", r.run("hello"))
		require.Contains(t, r.last(), leftOut)
		require.Equal(t, 1, r.questions())
	})
}

// TestTrustQuestionOfACancelledPrompt checks a client that may report that the question was dismissed before it reports that the prompt was
// cancelled (agent-shell). The dismissal is not an answer: droid gets no prompt, and the next one asks again.
func TestTrustQuestionOfACancelledPrompt(t *testing.T) {
	bothVersions(t, func(t *testing.T, v fakedroid.Version) {
		r := inProject(t, v, map[string]string{".factory/mcp.json": someServer})
		r.ask = func(permission) string {
			time.AfterFunc(30*time.Millisecond, r.cancel)
			return ""
		}
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "cancelled", r.run("one"))
		r.ask = func(p permission) string { return p.Options[0].OptionID }
		require.Equal(t, "end_turn", r.run("two"))
		require.Equal(t, 2, r.questions())
		require.NotContains(t, strings.Join(r.updates(), "\n"), "droid got one")
		require.Equal(t, "end_turn", r.run("three"))
		require.Equal(t, 2, r.questions(), "the answer was no")
	})
}

// TestTrustedElsewhere: if another window has trusted the project, a notice says so before what was left out runs.
func TestTrustedElsewhere(t *testing.T) {
	bothVersions(t, func(t *testing.T, v fakedroid.Version) {
		r := inProject(t, v, map[string]string{".factory/mcp.json": someServer})
		r.ask = func(p permission) string { return p.Options[0].OptionID }
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("one"))
		require.NoError(t, r.keeper.Trust(r.keeper.Check(r.dir)))
		require.Equal(t, "end_turn", r.run("two"))
		require.Equal(t, 1, strings.Count(strings.Join(r.updates(), "\n"), "This project was trusted meanwhile"))
		require.Equal(t, "end_turn", r.run("three"))
		require.Equal(t, 1, strings.Count(strings.Join(r.updates(), "\n"), "This project was trusted meanwhile"))
	})
}

// TestCancelledTrustCommand: a cancel cannot undo a yes that is being stored, so the user is notified.
func TestCancelledTrustCommand(t *testing.T) {
	bothVersions(t, func(t *testing.T, v fakedroid.Version) {
		r := inProject(t, v, map[string]string{".factory/mcp.json": someServer})
		r.ask = func(p permission) string { return p.Options[0].OptionID }
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("one"))
		r.hanging.begin("Trust")
		yes := r.prompt("/trust yes")
		time.Sleep(time.Second)
		r.cancel()
		time.Sleep(time.Second)
		r.hanging.revive()
		require.Equal(t, "cancelled", ended(r.await(yes)))
		require.Contains(t, strings.Join(r.updates(), "\n"), "Trusted, and remembered for")
	})
}

// A prompt that was sent behind "/trust no" does not go to a droid with what the project brings if that is not taken back.
func TestPromptBehindATrustThatStays(t *testing.T) {
	for why, stays := range map[string]func(r *trustRoom){
		"It was not kept":                     func(r *trustRoom) { require.NoError(r.t, os.Mkdir(r.file+".lock", 0o700)) },
		"The agent was started with `--trust": func(r *trustRoom) { r.agent.Config.Trust = trust.New(trust.Options{Mode: trust.Always}) },
	} {
		t.Run(why, func(t *testing.T) {
			bothVersions(t, func(t *testing.T, v fakedroid.Version) {
				r := inProject(t, v, map[string]string{".factory/mcp.json": someServer})
				require.NoError(t, r.keeper.Trust(r.keeper.Check(r.dir)))
				stays(r)
				require.Nil(t, r.newSession().Error)
				r.hanging.begin("Trust")
				no, behind := r.prompt("/trust no"), r.prompt("hello")
				r.settle()
				r.hanging.revive()
				require.Equal(t, "end_turn", ended(r.await(no)))
				require.Contains(t, ended(r.await(behind)), "The prompt was not sent, because `/trust no` before it failed: "+why)
				require.Equal(t, "end_turn", r.run("I know it is trusted"))
				require.NotContains(t, r.last(), leftOut)
			})
		})
	}
}

// So does one behind a "/trust no" that was not understood.
func TestPromptBehindATrustThatIsNotUnderstood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.NoError(t, r.keeper.Trust(r.keeper.Check(r.dir)))
		require.Nil(t, r.newSession().Error)
		r.turn = func(d *fakedroid.Droid) error { time.Sleep(time.Minute); return d.Say("", "Done.") }
		first, no, behind := r.prompt("go"), r.prompt("/trust no, please"), r.prompt("hello")
		require.Equal(t, "end_turn", ended(r.await(first)))
		require.Equal(t, "end_turn", ended(r.await(no)))
		require.Contains(t, ended(r.await(behind)), "`/trust no, please` before it failed: `/trust` does not understand")
	})
}

// Files that appear while droid runs are asked about before the next prompt, also after a no or a yes to earlier ones; under --trust,
// another droid never excludes them. If the check fails, no prompt is sent.
func TestProjectChangesBetweenPrompts(t *testing.T) {
	other := `{"mcpServers":{"t":{"command":"worse"}}}`
	for name, tc := range map[string]struct {
		mode   trust.Mode
		first  string // what the project brings at first
		answer string // to each question
		asked  int
	}{
		"nothing at first": {trust.Ask, "", "not-now-go-on", 1},
		"not now":          {trust.Ask, someServer, "not-now-go-on", 2},
		"trusted":          {trust.Ask, someServer, "trust", 2},
		"never":            {trust.Never, someServer, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bothVersions(t, func(t *testing.T, v fakedroid.Version) {
				files := map[string]string{".factory/skills/x/SKILL.md": "x"}
				if tc.first != "" {
					files[".factory/mcp.json"] = tc.first
				}
				r := inProject(t, v, files)
				r.agent.Config.Trust = trust.New(trust.Options{Home: r.home, File: r.file, Mode: tc.mode})
				r.ask = func(permission) string { return tc.answer }
				require.Nil(t, r.newSession().Error)
				require.Equal(t, "end_turn", r.run("one"))
				r.write(t, ".factory/mcp.json", other)
				started := len(r.settings)
				require.Equal(t, "end_turn", r.run("two"))
				require.Equal(t, tc.asked, r.questions())
				require.Len(t, r.settings, started+1)
				require.Equal(t, tc.answer != "trust", strings.Contains(r.last(), `"t":{"command":"false","disabled":true`), r.last())
				require.Equal(t, 1, strings.Count(r.told(), "droid got two"))
				if tc.mode == trust.Never {
					require.Equal(t, 1, strings.Count(r.messages(), "worse"), r.messages())
				}
				require.Equal(t, "end_turn", r.run("three"))
				require.Len(t, r.settings, started+1)
				require.Equal(t, tc.asked, r.questions())
			})
		})
	}
}

// droid gets no request while the project cannot be checked.
func TestPromptWaitsForALook(t *testing.T) {
	for _, asked := range []string{"hello", "/compact"} {
		t.Run(asked, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := inProject(t, fakedroid.V0225, nil)
				require.Nil(t, r.newSession().Error)
				r.hanging.begin("Trust.Look")
				id := r.prompt(asked)
				time.Sleep(time.Minute)
				answer := r.await(id)
				require.NotNil(t, answer.Error)
				require.Contains(t, allOf(answer.Error), "so droid was not asked")
				require.NotContains(t, r.told(), "droid got hello")
				r.hanging.revive()
				r.settle()
				require.Equal(t, "end_turn", r.run("again"))
				require.NotContains(t, r.told(), "droid got hello")
			})
		})
	}
}

// Files that appear in a turn end a droid that may apply them. A droid that cannot continues: the next prompt asks.
func TestProjectChangesInATurn(t *testing.T) {
	for name, brings := range map[string]string{"a server": someServer, "nothing": `{"mcpServers":{}}`} {
		bothVersions(t, func(t *testing.T, v fakedroid.Version) {
			r := inProject(t, v, map[string]string{".factory/skills/x/SKILL.md": "x"})
			r.ask = func(p permission) string { return p.Options[0].OptionID }
			r.turn = func(d *fakedroid.Droid) error {
				r.write(t, ".factory/mcp.json", brings)
				if err := d.Use("", "", touch); err != nil {
					return err
				}
				time.Sleep(time.Second)
				return d.Say("", "went on")
			}
			require.Nil(t, r.newSession().Error)
			answer := r.await(r.prompt("hello"))
			if brings == someServer {
				require.NotNil(t, answer.Error, name)
				require.Contains(t, allOf(answer.Error), "the project now brings 1 MCP server, which nobody has allowed")
				require.NotContains(t, r.told(), "went on")
			} else {
				require.Nil(t, answer.Error, name)
				require.Contains(t, r.told(), "went on")
			}
			r.turn = nil
			require.Equal(t, "end_turn", r.run("again"))
			require.Contains(t, r.told(), "droid got again")
			require.Equal(t, brings == someServer, r.questions() == 1)
			time.Sleep(2 * time.Second) // the scripted droid that was ended
		})
	}
}

// Files that appear while a prompt is prepared are asked about before droid gets it.
func TestProjectChangesDuringThePreparation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, nil)
		require.Nil(t, r.newSession().Error)
		r.agent.Launcher.Stat = func(path string) (os.FileInfo, error) {
			r.write(t, ".factory/mcp.json", someServer)
			return os.Stat(path)
		}
		r.ask = func(p permission) string { return p.Options[len(p.Options)-1].OptionID } // cancel the prompt
		require.Equal(t, "cancelled", ended(r.await(r.linking("file:///x.txt"))))
		require.Equal(t, 1, r.questions())
		require.NotContains(t, r.told(), "droid got")
	})
}

// changedInATurn is a project that brings a server since its prompt, id, runs for a minute.
func changedInATurn(t *testing.T, followUp string) (r *trustRoom, id string) {
	r = inProject(t, fakedroid.V0225, map[string]string{".factory/skills/x/SKILL.md": "x"})
	r.turn = func(d *fakedroid.Droid) error {
		time.Sleep(time.Minute)
		return d.Say("", "went on")
	}
	require.Nil(t, r.newSession().Error)
	require.Nil(t, r.set("follow_up", followUp).Error)
	id = r.prompt("hello")
	time.Sleep(time.Second)
	r.write(t, ".factory/mcp.json", someServer)
	return r, id
}

// A message that joins a turn only goes to a droid that was started with the project's current configuration.
func TestProjectChangesBeforeAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := changedInATurn(t, "queue")
		steered := r.await(r.steer("more", askBack))
		require.NotNil(t, steered.Error)
		answer := r.await(id)
		require.NotNil(t, answer.Error)
		require.Contains(t, allOf(answer.Error), "the project now brings 1 MCP server, which nobody has allowed")
		require.NotContains(t, r.told(), "went on")
		time.Sleep(2 * time.Minute) // the scripted droid that was ended
	})
}

// A cancel that comes while a yes is stored ends the prompt, and nothing follows the response.
func TestCancelWhileAYesIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		r.newSession()
		r.ask = func(permission) string { return "trust" }
		r.hanging.begin("Trust.Trust")
		id := r.prompt("hello")
		r.settle()
		require.True(t, r.hanging.wasReached())
		r.cancel()
		require.Equal(t, "cancelled", ended(r.await(id)))
		before := r.updates()
		r.hanging.revive()
		time.Sleep(3 * time.Second)
		require.Equal(t, before, r.updates())
	})
}

// A droid that is killed for what the project brings has not crashed, however often that happens.
func TestProjectChangesInEachTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/skills/x/SKILL.md": "x"})
		r.ask = func(p permission) string { return p.Options[0].OptionID }
		changes := 0
		r.turn = func(d *fakedroid.Droid) error {
			if changes++; changes > turns.MaxCrashes {
				return d.Say("", "done")
			}
			r.write(t, ".factory/mcp.json", fmt.Sprintf(`{"mcpServers":{"s%d":{"command":"x"}}}`, changes))
			if err := d.Use("", "", touch); err != nil {
				return err
			}
			time.Sleep(time.Second)
			return d.Say("", "went on")
		}
		require.Nil(t, r.newSession().Error)
		for range turns.MaxCrashes {
			require.Contains(t, allOf(r.await(r.prompt("hello")).Error), "the project now brings 1 MCP server, which nobody has allowed")
		}
		require.Equal(t, "end_turn", r.run("hello"))
		time.Sleep(2 * time.Minute) // the scripted droids that were ended
	})
}

// Such an end neither counts as a crash nor makes up for those before it.
func TestProjectChangesBetweenCrashes(t *testing.T) {
	for _, changes := range []int{1, turns.MaxCrashes} {
		synctest.Test(t, func(t *testing.T) {
			r := inProject(t, fakedroid.V0225, map[string]string{".factory/skills/x/SKILL.md": "x"})
			r.ask = func(p permission) string { return p.Options[0].OptionID }
			turn := 0
			r.turn = func(d *fakedroid.Droid) error {
				if turn++; turn != changes {
					return d.Die(1, "")
				}
				r.write(t, ".factory/mcp.json", `{"mcpServers":{"s":{"command":"x"}}}`)
				if err := d.Use("", "", touch); err != nil {
					return err
				}
				time.Sleep(time.Second)
				return d.Say("", "went on")
			}
			require.Nil(t, r.newSession().Error)
			for crashes := 0; crashes < turns.MaxCrashes; {
				end := allOf(r.await(r.prompt("hello")).Error)
				if turn == changes {
					require.Contains(t, end, "which nobody has allowed")
					continue
				}
				crashes++
				require.Equal(t, crashes == turns.MaxCrashes, strings.Contains(end, "3 times in a row"), end)
			}
			time.Sleep(2 * time.Minute) // the scripted droids that were ended
		})
	}
}

// A prompt that is sent into a running turn does not go to a droid that was started without what the project brings now.
func TestProjectChangesBeforeASteeredPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := changedInATurn(t, "steer")
		second := r.prompt("more")
		require.Contains(t, allOf(r.await(id).Error), "the project now brings 1 MCP server, which nobody has allowed")
		require.Equal(t, "end_turn", ended(r.await(second)))
		require.Equal(t, 1, r.questions())
		time.Sleep(2 * time.Minute) // the scripted droid that was ended
	})
}

// A prompt that is sent into a running turn waits for its end if the user has taken back, elsewhere, what droid was started with.
func TestTrustTakenBackBeforeASteeredPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.NoError(t, r.keeper.Trust(r.keeper.Check(r.dir)))
		r.turn = func(d *fakedroid.Droid) error { time.Sleep(time.Minute); return d.Say("", "went on") }
		require.Nil(t, r.newSession().Error)
		require.Nil(t, r.set("follow_up", "steer").Error)
		first := r.prompt("hello")
		time.Sleep(time.Second)
		require.NotContains(t, r.last(), leftOut)
		_, err := r.keeper.Forget(r.dir)
		require.NoError(t, err)
		r.ask = func(p permission) string { return "" }
		require.Contains(t, allOf(r.await(r.steer("and this", askBack)).Error), "what you have taken back")
		second := r.prompt("more")
		require.Equal(t, "end_turn", ended(r.await(first)))
		require.Equal(t, "end_turn", ended(r.await(second)))
		require.Contains(t, r.last(), leftOut)
		require.Equal(t, 2, strings.Count(r.told(), "went on"))
		time.Sleep(2 * time.Minute) // the scripted droid that was ended
	})
}

// A steered prompt that is cancelled during the look at the project does not go to droid.
func TestCancelBeforeASteeredPromptIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got atomic.Int32
		e := connect(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { got.Add(int32(bytes.Count(line, []byte("add_user_message")))) }, uses(touch), fakedroid.WithVersion(fakedroid.V0225)), nil
		})
		home := t.TempDir()
		e.agent.Config.Trust = trust.New(trust.Options{Home: home, File: filepath.Join(home, "trust.json")})
		e.ask = nil
		e.beginSession()
		require.Nil(t, e.set("follow_up", "steer").Error)
		first := e.prompt("one")
		e.settle()
		e.hanging.begin("Trust.Look")
		second := e.prompt("two")
		e.settle()
		require.True(t, e.hanging.wasReached())
		e.cancel()
		e.settle()
		e.hanging.revive()
		require.Equal(t, "cancelled", ended(e.await(first)))
		require.Equal(t, "cancelled", ended(e.await(second)))
		require.EqualValues(t, 1, got.Load())
	})
}

// A yes that is typed is to what its user had read by then.
func TestTypedYesIsToWhatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProjectAs(t, asNamed("acpx"), fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.Nil(t, r.newSession().Error)
		require.Contains(t, r.messages(), "evil")
		r.write(t, ".factory/mcp.json", `{"mcpServers":{"t":{"command":"worse"}}}`)
		require.Equal(t, "end_turn", r.run("/trust yes"))
		require.Contains(t, r.messages(), "You had not been shown all of this")
		require.Contains(t, r.messages(), "worse")
		require.False(t, r.keeper.Check(r.dir).Trusted)
		require.Equal(t, "end_turn", r.run("/trust yes"))
		require.True(t, r.keeper.Check(r.dir).Trusted)
	})
}

// A list that is longer than a screen is not asked about, and no yes counts before all of it was shown.
func TestMoreThanAScreenIsNotAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := `{"mcpServers":{"t":{"command":"evil","args":["` + strings.Repeat("x", 1600) + `"]}}}`
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": long})
		require.Nil(t, r.newSession().Error)
		require.Equal(t, "end_turn", r.run("hello"))
		require.Zero(t, r.questions())
		require.Contains(t, r.messages(), "too much to ask about")
		require.Equal(t, "end_turn", r.run("/trust yes"))
		require.False(t, r.keeper.Check(r.dir).Trusted)
		require.Contains(t, r.messages(), "You had not been shown all of this")
		require.Equal(t, "end_turn", r.run("/trust yes"))
		require.True(t, r.keeper.Check(r.dir).Trusted)
	})
}
