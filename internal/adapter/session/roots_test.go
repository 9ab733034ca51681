package session_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

const beBrief = `,"_meta":{"systemPrompt":{"append":"Be brief."}}`

// instructed is an editor whose droids and store are known.
type instructed struct {
	*editor
	f    *fleet
	root string // of the store
	old  bool   // droid stores nothing with a session
}

func beginInstructed(t *testing.T, v fakedroid.Option) instructed {
	t.Helper()
	f := newFleet(t, v, repeats())
	e := instructed{connect(t, f.start), f, t.TempDir(), strings.Contains(t.Name(), string(fakedroid.V099))}
	e.agent.Config.Store = store.New(e.root, zap.NewNop())
	synctest.Wait() // the spare has started
	return e
}

// ask calls a method that opens a session, with these params more. It returns the
// session's id.
func (e instructed) ask(method, id, more string) string {
	e.t.Helper()
	name := ""
	if id != "" {
		name = fmt.Sprintf(`"sessionId":%q,`, id)
	}
	return cmp.Or(e.sessionOf(e.call("session/"+method, `{`+name+`"cwd":"/workspace","mcpServers":[]`+more+`}`)), id)
}

// stores writes droid's files of a session, with the addition to its system prompt.
func (e instructed) stores(id, text string) {
	e.t.Helper()
	dir := filepath.Join(e.root, "-workspace")
	require.NoError(e.t, os.MkdirAll(dir, 0o700))
	start := fmt.Sprintf(`{"type":"session_start","id":%q,"title":"t","version":2,"cwd":"/workspace"}`+"\n"+`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}`+"\n", id)
	require.NoError(e.t, os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(start), 0o600))
	require.NoError(e.t, os.WriteFile(filepath.Join(dir, id+".settings.json"), fmt.Appendf(nil, `{"systemPrompt":{"append":%q}}`, text), 0o600))
}

// last returns what the newest process adds to its system prompt, and the number of processes.
func (e instructed) last() (added string, processes int) {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.added[len(e.added)-1], len(e.added)
}

// The directories of each request replace those before; a process that has them is kept.
func TestRootsOfEachRequest(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginInstructed(t, v)
		const lib, both = `,"additionalDirectories":["/lib"]`, `,"additionalDirectories":["/lib","/doc"]`
		e.ask("new", "", "") // takes the spare
		s := e.ask("new", "", lib)
		e.session = s
		require.Equal(t, "end_turn", e.run("one"))
		added, n := e.last()
		require.Contains(t, added, "\n- \"/lib\"\n")
		require.Equal(t, 2, n)
		for _, step := range []struct {
			method, more string
			started      int
			names        []string
		}{
			{"load", lib, 0, []string{"/lib"}},
			{"resume", both, 1, []string{"/lib", "/doc"}},
			{"load", both, 0, []string{"/lib", "/doc"}},
			{"load", "", 1, nil},
			{"resume", `,"additionalDirectories":[]`, 0, nil},
			{"load", `,"additionalDirectories":["/doc","/workspace"]`, 1, []string{"/doc"}},
			{"resume", `,"additionalDirectories":null`, 1, nil},
		} {
			before := n
			e.ask(step.method, s, step.more)
			added, n = e.last()
			require.Equal(t, step.started, n-before, step)
			require.Equal(t, len(step.names), strings.Count(added, "\n- "), step)
			for _, name := range step.names {
				require.Contains(t, added, fmt.Sprintf("\n- %q\n", name))
			}
			require.Equal(t, step.names, e.rootsOf(s))
			require.Equal(t, "end_turn", e.run("again"))
			require.Equal(t, 2, e.f.alive(), "one for each session")
		}
	})
}

// A copy has the words of the session it was made from, and the directories that its
// own request names.
func TestInstructionsOfAFork(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginInstructed(t, v)
		e.session = e.ask("new", "", beBrief+`,"additionalDirectories":["/lib"]`)
		require.Equal(t, "end_turn", e.run("one"))
		copied := e.ask("fork", e.session, `,"additionalDirectories":["/doc"]`)
		added, _ := e.last()
		require.Contains(t, added, "Be brief.")
		require.Contains(t, added, `"/doc"`)
		require.NotContains(t, added, `"/lib"`)
		require.Equal(t, []string{"/doc"}, e.rootsOf(copied))
		require.Equal(t, []string{"/lib"}, e.rootsOf(e.session))

		e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session))
		e.stores(e.session, "Be brief.")
		require.Nil(t, e.rootsOf(e.session), "it is not open")
		e.ask("fork", e.session, beBrief+`,"additionalDirectories":["/new"]`)
		added, _ = e.last()
		require.Contains(t, added, `"/new"`)
		require.NotContains(t, added, "Be brief.", "droid copies what it has stored")
	})
}

// What cannot be used opens nothing.
func TestRefusedInstructions(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginInstructed(t, v)
		e.session = e.ask("new", "", "")
		require.Equal(t, "end_turn", e.run("one"))
		_, before := e.last()
		for _, method := range []string{"new", "load", "resume", "fork"} {
			for _, more := range []string{
				`"additionalDirectories":["lib"]`, `"systemPrompt":{"mode":"override","content":[{"type":"text","text":"x"}]}`, `"_meta":{"systemPrompt":"x"}`,
			} {
				answer := e.call("session/"+method, fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[],%s}`, e.session, more))
				require.NotNil(t, answer.Error, method+more)
				require.Equal(t, -32602, answer.Error.Code, method+more)
			}
		}
		_, n := e.last()
		require.Equal(t, before, n)
		require.Equal(t, "end_turn", e.run("two"), "the session is as it was")
	})
}

// The list tells the directories of the sessions that are open here.
func TestListTellsRoots(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginInstructed(t, v)
		with, without := e.ask("new", "", `,"additionalDirectories":["/lib","/doc"]`), e.ask("new", "", "")
		const other = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
		for _, id := range []string{with, without, other} {
			e.stores(id, "")
		}
		listed := func() map[string]string {
			var result struct{ Sessions []map[string]json.RawMessage }
			require.NoError(t, json.Unmarshal(e.call("session/list", `{}`).Result, &result))
			told := map[string]string{}
			for _, s := range result.Sessions {
				told[strings.Trim(string(s["sessionId"]), `"`)] = string(s["additionalDirectories"])
			}
			return told
		}
		require.Equal(t, map[string]string{with: `["/lib","/doc"]`, without: "", other: ""}, listed())
		e.ask("load", with, "")
		require.Empty(t, listed()[with])
	})
}

// rootsOf are the additional directories of a session, nil for one that is not open.
func (e *editor) rootsOf(id string) []string {
	if s, open := e.agent.Sessions.Find(id); open {
		return s.Instructions().Roots
	}
	return nil
}
