package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// titles is an editor whose agent has a store with files, as droid's are, and whose
// droids rename.
type titles struct {
	*editor
	root     string
	sessions *fakedroid.Sessions
	renamed  []string
	slow     bool // droid writes the title and does not answer
	lies     bool // droid answers and does not write it
}

func (s *titles) file(id string) string { return filepath.Join(s.root, id+".jsonl") }

// write writes a session's file with a title.
func (s *titles) write(id, title string) {
	require.NoError(s.t, os.WriteFile(s.file(id), []byte(fmt.Sprintf(`{"type":"session_start","title":%q,"isSessionTitleManuallySet":true,"cwd":"/workspace"}`, title)+"\n"), 0o600))
}

func (s *titles) titleInStore(id string) string {
	found, err := s.agent.Config.Store.Find(id)
	require.NoError(s.t, err)
	return found.Title
}

func (s *titles) setTitle(id, title string) wireMessage {
	return s.call("session/set_title", fmt.Sprintf(`{"sessionId":%q,"title":%q}`, id, title))
}

func openTitles(t *testing.T, root string, script fakedroid.Script) *titles {
	s := &titles{root: root, sessions: new(fakedroid.Sessions)}
	rename := fakedroid.WithAnswer("droid.rename_session", func(p map[string]any) (any, string) {
		s.renamed = append(s.renamed, p["title"].(string))
		if s.lies {
			return fakedroid.Fields{"success": true}, ""
		}
		all, _ := filepath.Glob(root + "/*.jsonl")
		for _, file := range all {
			id := filepath.Base(file)
			s.write(id[:len(id)-len(".jsonl")], p["title"].(string))
		}
		if s.slow {
			return fakedroid.NoAnswer{}, ""
		}
		return fakedroid.Fields{"success": true}, ""
	})
	s.editor = connect(t, func(int) (*droid.Client, error) {
		return fakeDroid(script, fakedroid.WithVersion(fakedroid.V0225), fakedroid.WithSessions(s.sessions), rename), nil
	})
	s.agent.Config.Store = store.New(root, zap.NewNop())
	return s
}

// says an automatic title with each answer, as droid may after a rename.
func titled(d *fakedroid.Droid, _ fakedroid.Prompt) error {
	if err := d.Notify("session_title_updated", fakedroid.Fields{"title": "what droid thinks"}); err != nil {
		return err
	}
	return d.Say("", "hi")
}

// Where the disk is full or HOME is read-only, droid may say that it has renamed the session,
// and its file has the old title: the answer is an error that says so.
func TestSetTitleThatIsNotStored(t *testing.T) {
	for _, isOpen := range []bool{true, false} {
		root := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s := openTitles(t, root, eachPrompt(titled))
			s.lies = true
			id := s.sessions.Add("/workspace")
			if isOpen {
				s.beginSession()
				id = s.session
			}
			s.write(id, "Before")
			answer := s.setTitle(id, "After")
			require.NotNil(t, answer.Error)
			require.Contains(t, fmt.Sprint(answer.Error), "still has the title from before")
			require.Equal(t, "Before", s.titleInStore(id))
			s.lies = false
			require.Nil(t, s.setTitle(id, "After").Error)
		})
	}
}

// Any session that is listed can be named, by a droid that is gone afterwards. A droid
// that has written the title and does not answer yet is not waited for.
func TestSetTitleOfStoredSession(t *testing.T) {
	for _, slow := range []bool{false, true} {
		root := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s := openTitles(t, root, says("hi"))
			s.slow = slow
			id := s.sessions.Add("/workspace")
			s.write(id, "before")
			answer := s.setTitle(id, "My own title")
			require.Nil(t, answer.Error)
			require.JSONEq(t, `{"title":"My own title"}`, string(answer.Result))
			require.Equal(t, "My own title", s.titleInStore(id))
			s.session = id
			require.Nil(t, s.call("session/load", sessionParamsOf(id)).Error, "afterwards it can be opened")
			require.Equal(t, "end_turn", s.run("hello"))
		})
	}
}

// What set_title refuses, and why.
func TestSetTitleRefuses(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openTitles(t, filepath.Join(root, "sessions"), says("hi"))
		require.NoError(t, os.MkdirAll(s.root, 0o700))
		id := s.sessions.Add("/workspace")
		s.write(id, "before")
		for params, code := range map[string]int{
			fmt.Sprintf(`{"sessionId":%q,"title":" \n\u0007 "}`, id): -32602,
			fmt.Sprintf(`{"sessionId":%q,"title":null}`, id):         -32602,
			fmt.Sprintf(`{"sessionId":%q}`, id):                      -32602,
			fmt.Sprintf(`{"sessionId":%q,"title":7}`, id):            -32602,
			`{"sessionId":"no-such","title":"x"}`:                    -32002,
			`{"title":"x"}`:                                          -32602,
		} {
			answer := s.call("session/set_title", params)
			require.NotNil(t, answer.Error, params)
			require.Equal(t, code, answer.Error.Code, params)
		}
		release, err := s.agent.Config.Store.MarkOpen(id)
		require.NoError(t, err)
		answer := s.setTitle(id, "x")
		require.Equal(t, -32600, answer.Error.Code)
		require.Contains(t, answer.Error.Message, "open in another window")
		release()
		mark := filepath.Join(filepath.Dir(s.root), "droid-acp-open", id)
		unreadable(t, mark)
		answer = s.setTitle(id, "x")
		require.NotNil(t, answer.Error, "another window may have it open")
		require.Contains(t, answer.Error.Message, "cannot be told whether another window")
		require.Empty(t, s.renamed)
		require.NoError(t, os.Remove(mark))
		require.Nil(t, s.setTitle(id, "x").Error)
		require.Equal(t, []string{"x"}, s.renamed)
	})
}
