package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][2]string{
		"/help": {"help", ""}, " /rename  My title ": {"rename", "My title"}, "/compact\nkeep it": {"compact", "keep it"},
		"help": {}, "/": {}, "/ help": {}, "": {},
	} {
		name, args, ok := Split(text)
		require.Equal(t, want[0] != "", ok, text)
		require.Equal(t, want, [2]string{name, args}, text)
	}
}

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"greet": "greet", "With Space": "with-space", "dot.ted": "dot-ted", "UPPER": "upper", "a_b": "a_b", "a--b": "a-b", "-x-": "-x-",
		"__init__": "__init__", "100%": "100-", "it's": "it-s", ".hidden": "-hidden", "Ünï cödé": "-n-c-d-", "trail ": "trail-",
		"日本": "日本", "日 本": "日-本", "...": "...", "": "", " ": "",
	} {
		require.Equal(t, want, Name(name), name)
	}
}

// names returns the names of the offered commands.
func (l *List) names() (names []string) {
	for _, c := range l.Offered() {
		names = append(names, string(c.Name))
	}
	return names
}

// Each name is offered once, and only what can be typed.
func TestOffered(t *testing.T) {
	yes, no := true, false
	var l List
	require.False(t, l.Known())
	l.Take(l.Look(), Found{
		commands: []droid.CustomCommand{{Name: "a-b", Description: "First"}, {Name: "-"}, {Name: "c"}, {Name: "a-b", Description: "Last"}},
		skills: []droid.Skill{{Name: "My Skill", UserInvocable: &yes}, {Name: "demo"}, {Name: "inner", UserInvocable: &no}, {Name: "off", Enabled: &no},
			{Name: "droid's", Location: "builtin"}, {Name: "c"}, {}},
	})
	require.True(t, l.Known())
	require.Equal(t, []string{"c", "a-b", "demo"}, l.names())
	require.EqualValues(t, "Last", l.Offered()[1].Description, "that is what droid runs")
}

// TestTake checks that names stay if droid does not answer, that names which it no longer lists are removed, and that an outdated result
// changes nothing.
func TestTake(t *testing.T) {
	var l List
	early, listed := l.Look(), func(names ...string) Found {
		f := Found{commands: []droid.CustomCommand{}}
		for _, name := range names {
			f.commands = append(f.commands, droid.CustomCommand{Name: name})
		}
		return f
	}
	l.Take(l.Look(), listed("a", "b"))
	l.Take(early, listed("late"))
	require.Equal(t, []string{"a", "b"}, l.names())
	l.Take(l.Look(), Found{})
	require.Equal(t, []string{"a", "b"}, l.names(), "droid did not answer")
	l.Take(l.Look(), listed("b"))
	require.Equal(t, []string{"b"}, l.names())
	require.True(t, l.Removed("A"))
	require.False(t, l.Removed("b"))
	require.False(t, l.Removed("never"))
	l.Take(l.Look(), listed("a"))
	require.False(t, l.Removed("a"))
	require.True(t, l.Removed("b"))
}

// A menu shows one sentence; the rest of a description tells the model when to use a skill.
func TestDescriptionsAreOneSentence(t *testing.T) {
	for description, want := range map[string]string{
		"Reviews code. Use when a review is asked for.": "Reviews code.",
		"Use when the user wants tests.":                "x",
		"Use when tests are wanted. Writes them.":       "Writes them.",
		"Knows Go 1.25, e.g. its tests":                 "Knows Go 1.25, e.g. its tests",
		"Two\nlines. And more":                          "Two …",
		"":                                              "x",
	} {
		require.EqualValues(t, want, describe("x", description, "").Description)
	}
}
