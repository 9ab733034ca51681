package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestRoot(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv(EnvHome, "")
	root, err := Root(os.Getenv)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(home, ".factory", "sessions"), root)

	t.Setenv(EnvHome, other)
	root, err = Root(os.Getenv)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(other, ".factory", "sessions"), root)

	t.Setenv(EnvHome, "relative")
	_, err = Root(os.Getenv)
	require.ErrorContains(t, err, "not an absolute path")
}

func TestRootWithoutHome(t *testing.T) {
	t.Setenv(EnvHome, "")
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	_, err := Root(os.Getenv)
	require.Error(t, err)
}

// abs makes a path absolute on every system.
func abs(path string) string {
	if runtime.GOOS == "windows" {
		return "C:" + filepath.FromSlash(path)
	}
	return path
}

// Files of the two versions, and the sessions that are read from them.
func TestSessionOfAFile(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	const parent = "99999999-2222-4333-8444-555555555555"
	work := abs("/home/me/my work.v2/日本-x")
	long := "Please look at this\nand " + strings.Repeat("carefully ", 40)
	tests := []struct {
		name, content string
		want          Session // ID, CWD of work and time are filled in
		unlisted      bool
	}{
		{name: "0.99 new", content: start99(id, work, "Fix it", nil) + turn99("Fix it"), want: Session{Title: "Fix it"}},
		{name: "0.99 long prompt", content: start99(id, work, autoTitle(long), nil) + turn99(long),
			want: Session{Title: "Please look at this"}},
		{name: "0.99 named by a model", content: start99(id, work, autoTitle(long), fields{"sessionTitle": "Careful look",
			"isSessionTitleManuallySet": false, "sessionTitleAutoStage": "first_message"}) + turn99(long),
			want: Session{Title: "Careful look"}},
		{name: "0.99 fork", content: start99(id, work, "[Fork] "+autoTitle(long), fields{"parent": parent,
			"sessionTitle": "[Fork] " + autoTitle(long), "isSessionTitleManuallySet": false}) + turn99(long),
			want: Session{Title: "[Fork] Please look at this"}},
		{name: "0.99 empty", content: start99(id, work, placeholder, nil), unlisted: true},
		{name: "0.99 subagent", content: start99(id, work, "# Invocation of a tool", fields{"sessionTitle": "worker: Sub work",
			"isSessionTitleManuallySet": true, "callingSessionId": parent, "callingToolUseId": "c"}) + turn99("Do it"),
			want: Session{Title: "worker: Sub work"}, unlisted: true},
		{name: "0.99 plan handed over", content: start99(id, work, "My plan", fields{"sessionTitle": "My plan",
			"isSessionTitleManuallySet": true}) + turn99("Implement the following plan:\n\n1. All of it"),
			want: Session{Title: "My plan"}},
		{name: "0.225 new", content: start225(id, work, autoTitle(long), fields{"isSessionTitleManuallySet": false}) + turn225(long),
			want: Session{Title: "Please look at this"}},
		{name: "0.225 named by a model", content: start225(id, work, "Please", fields{"isSessionTitleManuallySet": false,
			"sessionTitleAutoStage": "first_message"}) + turn225(long), want: Session{Title: "Please"}},
		{name: "0.225 renamed", content: start225(id, work, "Please look", fields{"isSessionTitleManuallySet": true}) + turn225(long),
			want: Session{Title: "Please look"}},
		{name: "0.225 fork of a renamed one", content: start225(id, work, "Mine", fields{"isSessionTitleManuallySet": false,
			"parent": parent, "forkedAtMessageId": "m"}) + turn225(long), want: Session{Title: "Mine"}},
		{name: "0.225 empty", content: start225(id, work, placeholder, nil), unlisted: true},
		{name: "0.225 with injected text only", content: start225(id, work, placeholder, nil) + context225(100), unlisted: true},
		{name: "0.225 compacted", content: start225(id, work, placeholder, fields{"parent": parent}) +
			fields{"type": "compaction_state", "id": "c", "summaryText": "s"}.line(), want: Session{}},
		{name: "0.225 compacted and continued", content: start225(id, work, placeholder, nil) +
			fields{"type": "compaction_state", "id": "c", "summaryText": "s"}.line() + turn225("Go on"),
			want: Session{Title: "Go on"}},
		{name: "0.225 worker of a mission", content: start225(id, work, "t", fields{"decompSessionType": "worker"}) + turn225("x"),
			want: Session{Title: "t"}, unlisted: true},
		{name: "0.225 orchestrator of a mission", content: start225(id, work, "x", fields{"decompSessionType": "orchestrator"}) + turn225("x"),
			want: Session{Title: "x"}},
		{name: "an image and no text", content: start225(id, work, placeholder, nil) + message("user", []any{
			fields{"type": "image", "source": fields{}}, fields{"type": "text", "text": ""}}, "")},
		{name: "an empty prompt that was answered", content: start225(id, work, placeholder, nil) + message("user", text(""), "") +
			message("assistant", text("Yes?"), "")},
		{name: "only an error was shown", content: start225(id, work, placeholder, nil) + message("user", text("No login"), "user_only"), unlisted: true},
		{name: "content as a string", content: start225(id, work, placeholder, nil) + message("user", "Just\nwords", ""),
			want: Session{Title: "Just"}},
		{name: "directory changed", content: start225(id, work, "a", fields{"lastCwd": abs("/else/../where/")}) + turn225("a"),
			want: Session{Title: "a", CWD: abs("/where")}},
		{name: "unclean directory", content: start225(id, work+"/../日本-x/", "a", nil) + turn225("a"), want: Session{Title: "a"}},
		{name: "blank line first", content: "\n \r\n" + start225(id, work, "a", nil) + turn225("a"), want: Session{Title: "a"}},
		{name: "other id inside", content: start225("other", work, "a", nil) + turn225("a"), want: Session{Title: "a"}},
		{name: "unknown lines and fields", content: start225(id, work, "a", fields{"new": []int{1}}) + "{\"type\":\"new\"}\n" + turn225("a"),
			want: Session{Title: "a"}},
		{name: "parent is null", content: start225(id, work, "a", nil)[:1] + `"parent":null,` + start225(id, work, "a", nil)[1:] + turn225("a"),
			want: Session{Title: "a"}},
		{name: "damaged in the middle", content: start225(id, work, "a", nil) + "{\"type\":\"mess\n\x00\xff\n" + turn225("a\nb"),
			want: Session{Title: "a"}},
		{name: "last line half written", content: start225(id, work, "a b", nil) + turn225("a\nb") + `{"type":"message","mess`,
			want: Session{Title: "a"}},
		{name: "first message half written", content: start225(id, work, "a b", nil) + message("user", text("a\nb"), "")[:60], unlisted: true,
			want: Session{Title: "a b"}},
		{name: "first message out of reach", content: start225(id, work, "<attached-file name=\"x\"> y </attached-file> a b", nil) +
			context225(maxHead) + turn225("a\nb"), want: Session{Title: "a b"}},
		{name: "first message longer than the head", content: start225(id, work, "a b", nil) + turn225("a\n"+strings.Repeat("b", maxHead)),
			want: Session{Title: "a b"}},
		{name: "first line longer than the first read", content: start225(id, work, "a", fields{"tags": strings.Repeat("t", 3*firstRead)}) +
			turn225("a\nb"), want: Session{Title: "a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t)
			s.write(project(work), id+transcript, test.content, sometime)
			want := test.want
			want.ID = id
			if want.CWD == "" {
				want.CWD = work
			}
			found, err := s.Find(id)
			require.NoError(t, err)
			require.True(t, sometime.Equal(found.UpdatedAt))
			want.UpdatedAt = found.UpdatedAt
			require.Equal(t, want, found)

			listed := s.list("", 0)
			require.Empty(t, s.logs.All())
			if test.unlisted {
				require.Empty(t, listed)
				return
			}
			want.Thread = []string{want.ID}
			require.Equal(t, []Session{want}, listed)
		})
	}
}

func TestFindRefusesTricks(t *testing.T) {
	s := newStore(t)
	outside := filepath.Join(filepath.Dir(s.root), "outside.jsonl")
	require.NoError(t, os.WriteFile(outside, []byte(start225("outside", abs("/w"), "a", nil)), 0o600))
	for _, id := range []string{"", ".", "..", "../outside", `..\outside`, "a/b", "/etc/passwd", "-", ".hidden", "a\x00b", "a b", "ü", "a*", "C:x",
		strings.Repeat("a", stream.MaxSessionID+1)} {
		_, err := s.Find(id)
		var missing *NotFoundError
		require.ErrorAs(t, err, &missing, "%q", id)
		require.Equal(t, id, missing.ID)
		require.ErrorContains(t, err, "not an id")
		require.NoError(t, s.Delete(id), "%q", id)
	}
	require.FileExists(t, outside)
	require.NoDirExists(t, filepath.Join(filepath.Dir(s.root), trashName))
}

func TestFindExistingDroid(t *testing.T) {
	s := newStore(t)
	s.session("known", abs("/w"), 1)
	s.write("", "flat"+transcript, start99("flat", abs("/w"), "a", nil)+turn99("a"), sometime)
	s.write(sideDirectory, "aside"+transcript, start225("aside", abs("/w"), "a", nil)+turn225("a"), sometime)
	s.write("-x", "broken"+transcript, `{"type":"session_st`, sometime)
	s.write("-x/deep", "deep"+transcript, start225("deep", abs("/w"), "a", nil)+turn225("a"), sometime)
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, "-x", "folder"+transcript), 0o700))

	for _, id := range []string{"known", "flat", "aside"} {
		found, err := s.Find(id)
		require.NoError(t, err)
		require.Equal(t, id, found.ID)
	}
	for _, id := range []string{"unknown", "deep", "folder", "broken"} {
		_, err := s.Find(id)
		var missing *NotFoundError
		require.ErrorAs(t, err, &missing, id)
		require.Equal(t, id == "broken", errors.Is(err, errDamaged), id)
		require.Contains(t, err.Error(), id)
	}
	require.Equal(t, []string{"known", "flat"}, ids(s.list("", 0)), "the side conversation is not listed")
}

// 0.99 continues a session of a wrong project in a second file without a
// beginning; a copy has one. The newest that can be loaded counts, once.
func TestOneIDInTwoFiles(t *testing.T) {
	s := newStore(t)
	s.session("twice", abs("/w"), 10)
	s.session("middle", abs("/w"), 15)
	s.write("-other", "twice"+transcript, message("user", text("more"), ""), sometime.Add(30*time.Second))
	s.write("-copy", "twice"+transcript, start225("twice", abs("/copy"), "c", nil)+turn225("c"), sometime.Add(20*time.Second))
	for limit := range 4 {
		require.Equal(t, []string{"twice", "middle"}, ids(s.list("", limit)), "limit %d", limit)
	}
	found, err := s.Find("twice")
	require.NoError(t, err)
	require.Equal(t, abs("/copy"), found.CWD)
}

// TestFindTakesTheNewestCopy checks that for a session that was copied to another project the copy that was used last is found, in any
// order of the projects.
func TestFindTakesTheNewestCopy(t *testing.T) {
	for newest, ages := range map[string][2]int{"/a": {2, 1}, "/b": {1, 2}} {
		s := newStore(t)
		for i, cwd := range []string{"/a", "/b"} {
			s.write(project(abs(cwd)), "copied"+transcript, start225("copied", abs(cwd), "hi", nil)+turn225("hi"), sometime.Add(time.Duration(ages[i])*time.Second))
		}
		found, err := s.Find("copied")
		require.NoError(t, err)
		require.Equal(t, abs(newest), found.CWD)
	}
}

// TestHiddenMessagesAreNotThePrompt checks that messages that droid writes only for the model or only for the screen do not count as the
// user's.
func TestHiddenMessagesAreNotThePrompt(t *testing.T) {
	for _, visibility := range []string{"llm_only", "user_only"} {
		var h head
		h.scan([]byte(`{"type":"message","message":{"role":"user","visibility":"`+visibility+`","content":"hidden"}}
{"type":"message","message":{"role":"user","content":"said"}}
`), true)
		require.Equal(t, "said", h.prompt)
		require.True(t, h.spoken)

		h = head{}
		h.scan([]byte(`{"type":"message","message":{"role":"user","visibility":"`+visibility+`","content":"hidden"}}`), true)
		require.False(t, h.spoken)
	}
}
