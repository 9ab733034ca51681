package session_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/command"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/testing/fakedroid"
)

// A command rejects arguments that it does not understand, and says which it accepts.
func TestCommandsRefuseWhatTheyDoNotUnderstand(t *testing.T) {
	const takesNothing = "It takes nothing."
	refused := map[string]map[string]string{ // by the arguments, what the answer says
		"compact":    nil, // they accept any text
		"export":     nil,
		"rename":     {"": "Give a title"},
		"search":     {"": "Give the words", "all-projects": "Give the words"},
		"shell":      {"": "Give a command"},
		"model":      {"best": "There is no model “best”. `/model` lists them."},
		"spec-model": {"best": "There is no spec mode model “best”"}, "follow-up": {"wait": "There is no follow-up “wait”"},
		"mode":        {"yolo": "There is no mode “yolo”", "auto-low now": "`/mode` lists them"},
		"effort":      {"much": "This model has no reasoning effort to choose."},
		"fork":        {"before": "has no conversation before", "before 2": "“before 2”. It takes: [before | ID].", "else": "`/sessions` lists them"},
		"rewind":      {"1 file": "“1 file”. It takes: [N [files]].", "1 files now": "It takes: [N", "one": "It takes: [N", "-1": "It takes: [N", "99": "from 1 to 1"},
		"permissions": {"why": "It takes: why COMMAND", "all": "It takes: why COMMAND", "forget no such entry": "There is no such entry"},
		"background":  {"stop": "It takes: stop NUMBER", "stop all": "It takes: stop NUMBER", "stop 7": "has the number 7"},
		"mcp":         {"logn x": "It takes: login, logout, enable", "login": "It takes: login, logout, enable", "x": "It takes: login, logout, enable"},
		"skills":      {"x": "It takes: enable or disable", "disable": "It takes: enable or disable", "disable none": "list_skills"},
		"trust":       {"yse": "“yse”. It takes: yes or no", "yes please": "It takes: yes or no"},
		"report":      {"/": "The report was not written"},
		"status":      {"all": "“all”. " + takesNothing},
		"help":        {"rewind": takesNothing},
		"login":       {"page fails": takesNothing},
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := begin(t, f.start)
		e.agent.Config.Shell = true
		require.Equal(t, "end_turn", e.run("hello"))
		for _, c := range command.All() {
			refuses, has := refused[c.Name]
			switch {
			case has:
			case c.Form == "":
				refuses = map[string]string{"all": takesNothing}
			case c.Kind == turns.Setting:
				refuses = map[string]string{"no such value": "There is no "}
			default:
				require.Fail(t, "what does "+c.Name+" refuse?")
			}
			for args, says := range refuses {
				before := len(e.updates())
				require.Equal(t, "end_turn", e.run("/"+c.Name+" "+args))
				require.Contains(t, strings.Join(e.updates()[before:], "\n"), says, c.Name+" "+args)
			}
		}
		require.Empty(t, f.loaded, "droid made no session")
	})
}
