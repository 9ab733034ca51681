//go:build linux

package session_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// snapshots are those of a droid that edits one file in the first turn and in those after it.
type snapshots struct {
	r        *filesRoom
	dir      string
	path     string
	original *string // nil: it is created
	edits    int
	lose     bool // droid has no texts

	mu    sync.Mutex
	files []map[string]any // of the manifest, a boundary each
}

// edit is a call that has done version n of the text when it is done.
func (s *snapshots) edit() fakedroid.Tool {
	s.edits++
	from, to := fmt.Sprintf("v%d\n", s.edits-1), fmt.Sprintf("v%d\n", s.edits)
	tool := editOf(s.path, from, to)
	if s.original == nil && s.edits == 1 {
		tool = createOf(s.path, to)
	}
	tool.ID = fmt.Sprint("call", s.edits)
	tool.Do = func(fakedroid.Fields) error {
		data, err := os.ReadFile(s.path)
		b := map[string]any{"files": []any{}, "creations": []any{map[string]any{"filePath": s.path, "toolCallId": tool.ID}}}
		text := to
		if err == nil {
			if text = strings.Replace(string(data), from, to, 1); text == string(data) {
				return errors.New("the text to replace was not found")
			}
			b = map[string]any{"files": []any{map[string]any{"filePath": s.path, "contentHash": s.store(data), "toolCallId": tool.ID}}}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.files = append(s.files, b)
		return os.WriteFile(s.path, []byte(text), 0o644)
	}
	return tool
}

// store stores a text and returns its hash.
func (s *snapshots) store(data []byte) string {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	s.write(filepath.Join("content", hash[:2], hash[2:]), data)
	return hash
}

func (s *snapshots) write(path string, data []byte) {
	path = filepath.Join(s.dir, "snapshots", path)
	if s.lose {
		return
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, data, 0o600) != nil {
		panic("no room for a snapshot")
	}
}

// info answers get_rewind_info. All edits are those of the turn of that message, or later.
func (s *snapshots) info(params map[string]any) (any, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.files {
		b["messageId"] = params["messageId"]
	}
	manifest, _ := json.Marshal(map[string]any{"boundaries": s.files})
	s.write(filepath.Join("manifests", params["sessionId"].(string)+".snapshots.json"), manifest)
	switch {
	case len(s.files) == 0:
		return fakedroid.Fields{}, ""
	case s.original == nil:
		return fakedroid.Fields{"createdFiles": s.files[0]["creations"]}, ""
	}
	return fakedroid.Fields{"availableFiles": s.files[0]["files"]}, ""
}

// execute answers execute_rewind, without checking the files.
func (s *snapshots) execute(params map[string]any) (any, string) {
	restored, deleted := params["filesToRestore"].([]any), params["filesToDelete"].([]any)
	if len(restored) > 0 && os.WriteFile(s.path, []byte(*s.original), 0o644) != nil || len(deleted) > 0 && os.Remove(s.path) != nil {
		return nil, "failed"
	}
	id := s.r.store.Before(params["sessionId"].(string), params["messageId"].(string))
	return fakedroid.Fields{"newSessionId": id, "restoredCount": len(restored), "deletedCount": len(deleted)}, ""
}

// rewindRoom is a room in which droid is about to edit or create a file.
func rewindRoom(t *testing.T, inEditor, creates bool, client string) (*filesRoom, *snapshots) {
	t.Helper()
	s := &snapshots{dir: filepath.Join(t.TempDir(), ".factory")}
	r := filesAgent(t, fakedroid.V0225, func(r *filesRoom) {
		r.o.ChecksTimes = client == "agent-shell"
		r.o.Delay = func() time.Duration { return time.Minute } // it has nothing from a look at the disk
		r.extra = append(r.extra, fakedroid.WithAnswer("droid.get_rewind_info", s.info), fakedroid.WithAnswer("droid.execute_rewind", s.execute))
	})
	s.r, s.path = r, r.path("a.txt")
	r.agent.Config.Store = store.New(filepath.Join(s.dir, "sessions"), zap.NewNop())
	capabilities := `{}`
	if inEditor {
		capabilities = bothMethods
	}
	r.greets(capabilities, client)
	r.session = r.newSession()
	if !creates {
		s.original = new("first\nv0\n")
		r.has("a.txt", *s.original)
		if inEditor {
			require.NoError(t, r.files.Open(s.path))
		}
	}
	return r, s
}

// acts carries out the given acts: D is an edit by droid, R one that the user rejects, S a text that the user saves, T a text that they
// type, and X deletes the file. It returns the user's lines.
func (s *snapshots) acts(t *testing.T, acts string, inEditor bool) (mine []string) {
	t.Helper()
	for i, act := range acts {
		line := fmt.Sprintf("mine %s %d\n", acts, i)
		switch act {
		case 'D', 'R':
			tool := s.edit()
			s.r.ask = allowOnce
			if act == 'R' {
				s.r.ask = rejectOnce
				s.edits--
				tool.ID += "refused"
			}
			s.r.does(tool)
			s.r.await(s.r.prompt("go"))
		case 'X':
			require.NoError(t, os.Remove(s.path))
		case 'S', 'T':
			mine = append(mine, line)
			if !inEditor {
				data, _ := os.ReadFile(s.path)
				require.NoError(t, os.WriteFile(s.path, append(data, line...), 0o644))
				break
			}
			require.NoError(t, s.r.files.Type(s.path, func(text string) string { return text + line }))
			if act == 'S' {
				require.NoError(t, s.r.files.Save(s.path))
			}
		}
		if info, err := os.Stat(s.path); err == nil {
			s.r.clock.changed(info)
		}
		time.Sleep(10 * time.Second) // the times of files tell nothing
	}
	return mine
}

// there are the texts that the user still has.
func (s *snapshots) there() (disk, buffer string) {
	data, _ := os.ReadFile(s.path)
	buffer, _ = s.r.files.Buffer(s.path)
	return string(data), buffer
}

const (
	byOthers   = "`a.txt`, **changed by you or another program, too**"
	notSaved   = "**with unsaved changes in your editor**"
	notThere   = "`a.txt`, which is not there now"
	notKnown   = "`a.txt`, of which it is not known whether you or another program changed it, too"
	leftChange = "Left as they are, since they changed while you were asked: `a.txt`."
)

// TestRewindLosesNothingUnnamed tries changes of a file by droid and the user, saved or not, before the question and while it is open, with
// either answer: the user's text is there afterwards, or the question named it. A file that only droid has changed is restored, on the disk
// and in the editor, and is named without a warning.
func TestRewindLosesNothingUnnamed(t *testing.T) {
	ways := map[string]struct {
		client            string
		inEditor, creates bool
		acts              string
		most              int // of these acts behind droid's first edit
	}{
		"disk, edited": {"zed", false, false, "DSRX", 2}, "disk, created": {"zed", false, true, "DSRX", 1},
		"editor, edited": {"zed", true, false, "DSRTX", 2}, "editor, created": {"zed", true, true, "DSRTX", 1},
		"an editor that minds times, edited": {"agent-shell", true, false, "DSRTX", 1},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				way.most = 1
			}
			for _, acts := range sequences(way.acts, way.most) {
				for _, during := range []string{"no", "X", "", "S", "T"} {
					if len(acts) > 1 && during != "" && during != "S" || during == "T" && !way.inEditor {
						continue
					}
					t.Run("D"+acts+" "+during, func(t *testing.T) {
						t.Setenv("FACTORY_HOME_OVERRIDE", filepath.Join(t.TempDir(), "nobody"))
						synctest.Test(t, func(t *testing.T) { rewindOnce(t, way.client, way.inEditor, way.creates, "D"+acts, during) })
					})
				}
			}
		})
	}
}

// sequences are the words of up to n of these letters in which a deleted file is not edited.
func sequences(letters string, n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		upTo := len(all)
		for _, word := range all[from:upTo] {
			for _, l := range letters {
				if !strings.HasSuffix(word, "X") {
					all = append(all, word+string(l))
				}
			}
		}
		from = upTo
	}
	return all
}

// rewindOnce makes changes by acts, and then the user rewinds to before all of them. during is the user's action while they are asked, "no"
// to refuse.
func rewindOnce(t *testing.T, client string, inEditor, creates bool, acts, during string) {
	r, s := rewindRoom(t, inEditor, creates, client)
	mine := s.acts(t, acts, inEditor)
	disk, buffer := s.there()
	dirty := inEditor && r.files.Dirty(s.path)
	question := ""
	var late []string
	r.ask = func(p permission) string {
		question = *p.ToolCall.Content[0].Content.Text
		if during == "no" {
			return rejectOnce(p)
		}
		if _, err := os.Stat(s.path); err != nil {
			during = ""
		}
		late = s.acts(t, during, inEditor)
		return allowOnce(p)
	}
	from := len(r.updates())
	require.Equal(t, "end_turn", r.run("/rewind 1 files"))
	said := strings.Join(r.updates()[from:], "\n")
	time.Sleep(10 * time.Second)
	diskNow, bufferNow := s.there()
	told := question + "\n" + said
	if during == "no" {
		require.Equal(t, []string{disk, buffer}, []string{diskNow, bufferNow}, told)
		return
	}
	has := func(line string) bool { return strings.Contains(diskNow+bufferNow, line) }
	for _, line := range mine {
		if strings.Contains(disk+buffer, line) && !has(line) {
			require.True(t, strings.Contains(question, byOthers) || strings.Contains(question, notSaved) || strings.Contains(question, notThere), "%q: %s", line, told)
		}
	}
	for _, line := range late {
		require.True(t, has(line), "%q: %s", line, told)
	}
	require.Equal(t, len(late) > 0 || during == "X", strings.Contains(said, leftChange), told)
	require.Equal(t, dirty && !strings.HasSuffix(acts, "X"), strings.Contains(question, notSaved), told)
	switch {
	case strings.HasSuffix(acts, "X"):
		require.Contains(t, question, notThere)
	case strings.ContainsAny(acts, "S") || strings.Contains(acts, "TD") || strings.Contains(acts, "TR"): // before an edit is asked about, what is typed is saved
		require.Contains(t, question, byOthers)
	default:
		require.NotContains(t, question, byOthers)
		require.NotContains(t, question, notKnown)
	}
	switch {
	case strings.Contains(said, leftChange):
		return
	case creates:
		require.NoFileExists(t, s.path)
		return
	}
	require.Equal(t, *s.original, diskNow, told)
	if inEditor && !strings.HasSuffix(acts, "X") {
		require.Equal(t, *s.original, bufferNow, told)
		require.False(t, r.files.Dirty(s.path), told)
	}
}

// TestRewindWithoutTheTexts: where droid's texts are missing or cannot be read, the question says that it is not known whether the file was
// changed.
func TestRewindWithoutTheTexts(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, s := rewindRoom(t, false, false, "zed")
			s.lose = !hangs
			s.acts(t, "D", false)
			if hangs {
				r.hanging.begin("Store.Snapshots")
			}
			question := ""
			r.ask = func(p permission) string {
				question = *p.ToolCall.Content[0].Content.Text
				return allowOnce(p)
			}
			require.Equal(t, "end_turn", r.run("/rewind 1 files"))
			require.Contains(t, question, notKnown)
			require.Equal(t, *s.original, r.disk(s.path))
		})
	}
}

// TestRewindWithoutAQuestion checks that if the user cannot be asked, only files that nobody else has changed are restored. Other files
// stay, and are named.
func TestRewindWithoutAQuestion(t *testing.T) {
	for _, acts := range []string{"D", "DS"} {
		synctest.Test(t, func(t *testing.T) {
			r, s := rewindRoom(t, false, false, "acpx")
			s.acts(t, acts, false)
			before := r.disk(s.path)
			r.ask = func(permission) string {
				t.Error("it was asked")
				return ""
			}
			require.Equal(t, "end_turn", r.run("/rewind 1 files"))
			said := strings.Join(r.updates(), "\n")
			require.Contains(t, said, "back at the point before prompt 1")
			if acts == "D" {
				require.Equal(t, *s.original, r.disk(s.path))
				return
			}
			require.Equal(t, before, r.disk(s.path))
			require.Contains(t, said, "Left as they are, since they may have changes of yours and your client cannot ask you: `a.txt`.")
		})
	}
}

// Files that only droid has changed are restored. The others stay, and are named.
func TestRewindMethodRestoresFiles(t *testing.T) {
	for acts, status := range map[string]string{"D": "edited", "DS": "changed"} {
		synctest.Test(t, func(t *testing.T) {
			r, s := rewindRoom(t, false, false, "zed")
			s.acts(t, acts, false)
			before := r.disk(s.path)
			r.ask = func(permission) string {
				t.Error("nobody is asked")
				return ""
			}
			params := fmt.Sprintf(`"messageId":%q,"files":"restore"`, r.pointOf("go"))
			dry, code := r.rewinds(params + `,"dryRun":true`)
			require.Zero(t, code)
			want := []session.RewindFile{{Path: s.path, Action: "restore", Status: status, Left: acts == "DS"}}
			require.Equal(t, want, dry.Files)
			require.Equal(t, before, r.disk(s.path))
			done, code := r.rewinds(params)
			require.Zero(t, code)
			require.Equal(t, want, done.Files)
			if acts == "D" {
				require.Equal(t, 1, done.Restored)
				require.Equal(t, *s.original, r.disk(s.path))
			} else {
				require.Zero(t, done.Restored)
				require.Equal(t, before, r.disk(s.path), "it has changes of the user's")
			}
		})
	}
}

// The points of a rewind name the files that it would change.
func TestRewindPointsNameFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rewindRoom(t, false, false, "zed")
		s.acts(t, "D", false)
		var points session.RewindPointsResult
		require.NoError(t, json.Unmarshal(r.call("_droid/rewind_points", fmt.Sprintf(`{"sessionId":%q}`, r.session)).Result, &points))
		require.Equal(t, []string{s.path}, points.Points[0].Files)
	})
}

// A rewind that restored files, and whose session droid then does not load, says what became of the files.
func TestRewindThatIsNotLoaded(t *testing.T) {
	t.Setenv("FACTORY_HOME_OVERRIDE", filepath.Join(t.TempDir(), "nobody"))
	synctest.Test(t, func(t *testing.T) {
		s := &snapshots{dir: filepath.Join(t.TempDir(), ".factory")}
		first := ""
		r := filesAgent(t, fakedroid.V0225, func(r *filesRoom) {
			r.o.Delay = func() time.Duration { return time.Minute }
			r.extra = append(r.extra, fakedroid.WithAnswer("droid.get_rewind_info", s.info), fakedroid.WithAnswer("droid.execute_rewind", s.execute),
				fakedroid.WithAnswer("droid.load_session", func(params map[string]any) (any, string) {
					if params["sessionId"] != first {
						return nil, "no room"
					}
					return nil, ""
				}))
		})
		s.r, s.path = r, r.path("a.txt")
		r.agent.Config.Store = store.New(filepath.Join(s.dir, "sessions"), zap.NewNop())
		r.greets(`{}`, "zed")
		r.session = r.newSession()
		first = r.session
		s.original = new("first\nv0\n")
		r.has("a.txt", *s.original)
		s.acts(t, "D", false)
		edited := r.disk(s.path)
		r.ask = allowOnce
		from := len(r.updates())
		require.Equal(t, "end_turn", r.run("/rewind 1 files"))
		said := strings.Join(r.updates()[from:], "\n")
		require.Contains(t, said, "did not load it")
		require.NotEqual(t, edited, r.disk(s.path))
		require.Contains(t, said, "Files restored: 1, deleted: 0. The conversation was not rewound: droid made the session")
	})
}
