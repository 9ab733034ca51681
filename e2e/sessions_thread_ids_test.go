//go:build e2e && linux

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// A thread that was compacted and rewound twice and whose agent was then killed continues in its newest conversation under its first ID. It
// is listed once, with its title, and opened once, by any ID; its previous conversation can be opened; deleting it by any ID leaves nothing
// of it.
func TestThreadKeepsItsID(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		words := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
		for _, w := range words {
			model.On("say "+w, modelserver.Step{Text: "SAID-" + strings.ToUpper(w) + "."})
		}
		compacts, renames := h.does(t, stream.CompactsWithoutLogin), h.has(t, stream.RenamesSessions)
		c := startAgent(t, h)
		s := c.open(h)
		ids := []string{s.id}
		moves := func(command, said string) {
			t.Helper()
			text := s.say(command)
			require.Contains(t, text, said)
			require.Contains(t, text, "`/fork before`")
			ids = append(ids, h.newest(t))
			require.NotContains(t, text, ids[len(ids)-1])
		}
		s.say("say first")
		s.say("say second")
		if renames {
			require.Contains(t, s.say("/rename My own title"), "My own title")
		}
		for _, w := range []string{"third", "sixth"} {
			if compacts {
				moves("/compact", "became a summary")
			} else {
				moves("/rewind 2", "point before prompt 2")
			}
			s.say("say " + w)
			s.say("say second")
			if compacts {
				moves("/rewind 2", "point before prompt 2")
			} else {
				moves("/rewind 3", "point before prompt 3")
			}
		}
		require.Len(t, ids, 5)
		forked := regexp.MustCompile("The copy is the session `([^`]+)`").FindStringSubmatch(s.say("/fork " + ids[0]))
		require.NotNil(t, forked)
		require.Contains(t, s.say("/sessions"), "`"+ids[0]+"`")
		c.kill(h)

		c = startAgent(t, h).initialize()
		require.ElementsMatch(t, []string{ids[0], forked[1]}, c.listed(h))
		var list struct {
			Sessions []struct{ SessionID, Title string }
		}
		c.mustCall("session/list", map[string]any{}, &list)
		require.Len(t, list.Sessions, 2)
		for _, one := range list.Sessions {
			if one.SessionID == ids[0] && renames {
				require.Equal(t, "My own title", one.Title)
			}
		}
		replayed, _ := c.replay(h, ids[0])
		require.Contains(t, replayed, said{"agent", "SAID-SIXTH."})
		require.NotContains(t, replayed, said{"agent", "SAID-SECOND."})
		s = session{c, ids[0]}
		require.Equal(t, "SAID-EIGHTH.", s.say("say eighth"))
		text, _ := requestText(t, model)
		require.Contains(t, text, "SAID-SIXTH.")
		for _, gone := range []string{"SAID-SECOND.", "SAID-FIRST.", "SAID-THIRD."} {
			if compacts || gone != "SAID-FIRST." {
				require.NotContains(t, text, gone, "the newest conversation alone")
			}
		}

		// By all other ids it is the same session, in one droid, also at once.
		for _, id := range ids[1:] {
			replayed, _ := c.replay(h, id)
			require.Contains(t, replayed, said{"agent", "SAID-EIGHTH."}, id)
			require.Equal(t, 1, h.droids(t))
		}
		c.mustCall("session/close", map[string]any{"sessionId": ids[3]}, nil)
		var loads []int
		for _, id := range ids {
			loads = append(loads, c.request("session/load", h.params(id)))
		}
		for _, load := range loads {
			_, l := c.response(load, 30*time.Second)
			require.Nil(t, l.Error)
		}
		require.Equal(t, "SAID-NINTH.", s.say("say ninth"), "by the first id")
		require.Equal(t, 1, h.droids(t))

		for _, l := range c.since(0) {
			require.NotContains(t, l.raw, "another window", "the killed agent has nothing open")
		}

		// The copy has the first conversation.
		c.mustCall("session/load", h.params(forked[1]), nil)
		s = session{c, forked[1]}
		s.say("say fourth")
		text, _ = requestText(t, model)
		require.Contains(t, text, "SAID-SECOND.")
		require.NotContains(t, text, "SAID-SIXTH.")
		c.mustCall("session/close", map[string]any{"sessionId": forked[1]}, nil)

		// Another agent does not delete it under this one's droid, by any of its IDs.
		other := startAgent(t, h, "--spare", "none").initialize()
		for _, id := range ids {
			_, err := other.call("session/delete", map[string]any{"sessionId": id})
			require.NotNil(t, err)
			require.Contains(t, err.Message, "close it there first")
		}
		other.signal(syscall.SIGKILL) // with its prewarmed droid
		<-other.exited
		files := make([]string, len(ids))
		for i, id := range ids {
			files[i] = h.stored(t, id)
		}
		c.mustCall("session/delete", map[string]any{"sessionId": ids[2]}, nil)
		h.awaitNoDroid(t, 10*time.Second)
		for i, file := range files {
			require.NoFileExists(t, file, "session %d", i)
		}
		require.Equal(t, []string{forked[1]}, c.listed(h))
		trash, err := filepath.Glob(filepath.Join(h.dir, ".factory", "droid-acp-trash", "*"))
		require.NoError(t, err)
		require.Len(t, trash, 1)
		_, failure := c.call("session/load", h.params(ids[0]))
		require.NotNil(t, failure)
		require.Equal(t, codeNotFound, failure.Code)
	})
}

// A conversation that another program made droid compact is one thread with its summary, until the old one is continued; a fork of either
// is not. Before 0.215 the summary has no host, which distinguishes it from a fork, and is a separate thread.
func TestCompactionByAnotherProgram(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		if !h.does(t, stream.CompactsWithoutLogin) {
			t.Skip("it needs a login to compact")
		}
		for _, w := range []string{"first", "second", "third"} {
			model.On("say "+w, modelserver.Step{Text: "SAID-" + strings.ToUpper(w) + "."})
		}
		c := startAgent(t, h)
		s := c.open(h)
		require.Equal(t, "SAID-FIRST.", s.prompt("say first").end(turnLimit).text())
		c.kill(h)

		client, err := droid.Start(droid.Command{Path: h.droid, Dir: h.work, Env: h.env}, nil)
		require.NoError(t, err)
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			for range client.Events() {
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
		defer cancel()
		_, err = client.Load(ctx, droid.LoadParams{SessionID: s.id})
		require.NoError(t, err)
		made, _, err := client.Compact(ctx, "")
		require.NoError(t, err)
		_, err = client.Load(ctx, droid.LoadParams{SessionID: made})
		require.NoError(t, err)
		forked, err := client.Fork(ctx)
		require.NoError(t, err)
		client.Kill()
		<-heard

		c = startAgent(t, h).initialize()
		if !h.has(t, stream.CompactsWithoutLogin) {
			require.ElementsMatch(t, []string{s.id, made, forked}, c.listed(h))
			return
		}
		require.ElementsMatch(t, []string{s.id, forked}, c.listed(h))
		c.mustCall("session/load", h.params(s.id), nil)
		s = session{c, s.id}
		require.Equal(t, "SAID-SECOND.", s.prompt("say second").end(turnLimit).text())
		text, _ := requestText(t, model)
		require.NotContains(t, text, "SAID-FIRST.", "a summary took its place")
		other := session{c, made}
		require.Equal(t, "SAID-THIRD.", other.prompt("say third").end(turnLimit).text())
		require.Equal(t, 1, h.droids(t))
		require.Contains(t, s.prompt("/sessions").end(turnLimit).text(), "`/fork ID`")
		require.ElementsMatch(t, []string{s.id, forked}, c.listed(h))
		c.mustCall("session/delete", map[string]any{"sessionId": made}, nil)
		require.Equal(t, []string{forked}, c.listed(h))
	})
}

// When a second agent opens a session that a first one has open, its user is informed without a prompt, and the first one's with the next
// prompt; both once.
func TestTwoWindowsOnOneSession(t *testing.T) {
	notKept(t, "two windows have one droid, so there is nothing to warn of; TestTwoFronts has what they see")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hi."})
		first := startAgent(t, h)
		s := first.open(h)
		s.say("hello")
		from := first.seen()
		second := startAgent(t, h).initialize()
		second.mustCall("session/load", h.params(s.id), nil)
		told := func(c *client, from int, text string) {
			t.Helper()
			c.await(text, from, turnLimit, func(l line) bool {
				u, ok := asUpdate(l)
				return ok && u.isNotice() && strings.Contains(u.text(), text)
			})
		}
		told(second, 0, "is open in another window or program of yours, too")
		require.NotContains(t, session{second, s.id}.say("hello"), "another window", "once") // by then it has noted that it is there
		s.say("hello")
		told(first, from, "was opened in another window or program of yours, too")
		for _, other := range []session{{second, s.id}, s} {
			require.NotContains(t, other.say("hello"), "another window", "once")
		}
		first.signal(syscall.SIGKILL)
		<-first.exited
	})
}

// A call that waits for permission in one window is not a failed one in another window that loads the session, which says where it waits,
// or gets the question, too, if both have one agent.
func TestLoadWhilePermissionWaits(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("go", modelserver.Step{Tools: []modelserver.ToolCall{execute("c", "touch made")}}, modelserver.Step{Text: "Done."})
		first := startAgent(t, h).onPermission(noAnswer)
		s := first.open(h)
		turn := s.prompt("go")
		first.await("the question", 0, turnLimit, func(l line) bool { return l.Method == "session/request_permission" })
		second := startAgent(t, h).onPermission(noAnswer).initialize()
		said, tools := second.replay(h, s.id)
		t.Logf("%v %v", said, tools)
		require.Contains(t, tools, "c")
		require.Equal(t, "pending", tools["c"])
		if h.kept {
			second.await("the question", 0, turnLimit, func(l line) bool { return l.Method == "session/request_permission" })
		} else {
			require.Contains(t, fmt.Sprint(said), "waits for an answer in the other window")
		}
		first.answer(first.asked()[0].Request, allowOnce(first.asked()[0]))
		require.Nil(t, turn.end(turnLimit).Err)
		require.FileExists(t, filepath.Join(h.work, "made"))
		third := startAgent(t, h).initialize()
		_, tools = third.replay(h, s.id)
		require.Equal(t, "completed", tools["c"])
		require.NotContains(t, third.transcript(), "PENDING")
		for _, c := range []*client{first, second} {
			c.signal(syscall.SIGKILL)
			<-c.exited
		}
	})
}
