package adapter

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// The first title of a call counts: some clients never change it.
func TestFirstTitleIsFinal(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginNamed(t, "zed", "{}", playing(uses(touch, create), v))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "tool_call t1 pending touch a")
		require.Contains(t, e.updates(), "tool_call t2 pending Create n.txt")
	})
}

// A call whose input takes long to come is shown without it, except to a client
// that never changes a title.
func TestCallIsShownBeforeItsInput(t *testing.T) {
	slow := eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		if err := d.Notify("tool_call", fakedroid.Fields{"toolUse": fakedroid.Fields{"type": "tool_use", "id": "t1", "name": "Execute", "input": fakedroid.Fields{}}}); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		return d.Use("", "", touch)
	})
	for client, want := range map[string]string{"zed": "tool_call t1 pending Execute", "mitto": "", "Agentic.nvim": ""} {
		synctest.Test(t, func(t *testing.T) {
			e := beginNamed(t, client, "{}", playing(slow))
			id := e.prompt("go")
			time.Sleep(140 * time.Millisecond)
			require.NotContains(t, strings.Join(e.updates(), "\n"), "tool_call")
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, want, strings.Join(slices.DeleteFunc(e.updates(), func(u string) bool { return !strings.HasPrefix(u, "tool_call") }), "\n"))
			require.Equal(t, "end_turn", ended(e.await(id)))
			if want == "" {
				require.Contains(t, e.updates(), "tool_call t1 pending touch a")
			} else {
				require.Contains(t, e.updates(), "tool_call_update t1 touch a")
			}
		})
	}
}

// A question is the title of its call before and after it is asked; a request that has it as its content is called by the
// topic.
func TestQuestionIsTheTitleOfItsCall(t *testing.T) {
	for n, want := range map[int]string{1: "Which color?", 2: "2 questions: Which color?; Which size?"} {
		versions(t, func(t *testing.T, v fakedroid.Option) {
			e := beginNamed(t, "zed", "{}", playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				_, err := d.AskUser("", threeQuestions[:n]...)
				return err
			}), v))
			var titles []string
			e.ask = func(p permission) string { titles = append(titles, string(p.ToolCall.Title)); return "answer_0" }
			require.Equal(t, "end_turn", e.run("ask me"))
			var shown []string
			for _, u := range e.updates() {
				if _, title, ok := strings.Cut(u, " pending "); ok && strings.HasPrefix(u, "tool_call ") {
					shown = append(shown, title)
				}
			}
			require.Equal(t, []string{want}, shown)
			if n == 1 {
				require.Equal(t, []string{"Color"}, titles)
				return
			}
			require.Equal(t, []string{"(1 of 2) Color", "(2 of 2) Size"}, titles)
			last := ""
			for _, u := range e.updates() {
				if strings.Contains(u, "2 questions") {
					last = u
				}
			}
			require.True(t, strings.HasPrefix(last, "tool_call_update "), "the row has its title back: %q", last)
		})
	}
}
