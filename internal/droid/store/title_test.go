package store

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestTitle(t *testing.T) {
	const reminder = "<system-reminder>\nsecret\n</system-reminder>\n"
	const file = "<attached-file name=\"a.go\">\nsecret\n</attached-file>\n"
	tests := []struct {
		name, title, prompt, want string
	}{
		{"nothing", "", "", ""},
		{"placeholder", placeholder, "", ""},
		{"placeholder with a prompt", placeholder, "\n \nHello\nyou", "Hello"},
		{"words", "Hello you", "Hello\nyou", "Hello"},
		{"not those words", "Goodbye", "Hello\nyou", "Goodbye"},
		{"blocks before", "<attached-file name=\"a.go\"> secret </attached-file> Hello you", "Hello\nyou", "Hello"},
		{"blocks before, prompt unknown", "<attached-file name=\"a.go\"> secret </attached-file> Hello you", "", "Hello you"},
		{"a block that was cut off", "<attached-file name=\"a.go\"> secr...", "Hello", "Hello"},
		{"a block that was cut off, prompt unknown", "<attached-file name=\"a.go\"> secr...", "", ""},
		{"reminder, prompt unknown", "Do it <system-reminder> secret </system-reminder> now", "", "Do it now"},
		{"control characters", "a\x1b[31mb\tc\u202ed", "", "a[31mb cd"},
		{"cut off prompt", strings.Repeat("wörd ", 30) + "...", "", strings.TrimSpace(strings.Repeat("wörd ", 15)) + " wörd…"},
		{"another tag", "<system-reminders>x", "", "<system-reminders>x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := head{firstRecord: firstRecord{Title: test.title}, prompt: test.prompt}
			require.Equal(t, test.want, h.title())
		})
	}
	require.Equal(t, "Hello you", oneLine(clean(reminder+"Hello\n"+file+"\nyou")))
}

func TestTitleThatWasGiven(t *testing.T) {
	h := head{firstRecord: firstRecord{Title: "Hello", TitleIsUsers: true}, prompt: "Hello you\nthere"}
	require.Equal(t, "Hello", h.title())
	h = head{firstRecord: firstRecord{Title: strings.Repeat("é", 300), TitleStage: "first_message"}}
	require.Equal(t, strings.Repeat("é", maxOwnTitle-1)+"…", h.title())
}

func TestCut(t *testing.T) {
	require.Equal(t, "", cut("", 3))
	require.Equal(t, "äbc", cut("äbc", 3))
	require.Equal(t, "äb…", cut("äbcd", 3))
	require.Equal(t, "ä…", cut("ä bcd", 3))
	require.Equal(t, maxPromptTitle, utf8.RuneCountInString(promptTitle(strings.Repeat("日", 500))))
}

func FuzzClean(f *testing.F) {
	f.Add("<system-reminder>a</system-reminder>b<attached-file name=x>c")
	f.Add("<system-reminder<system-reminder>")
	f.Fuzz(func(t *testing.T, text string) {
		title := head{firstRecord: firstRecord{Title: text}, prompt: text}.title()
		require.LessOrEqual(t, utf8.RuneCountInString(title), maxOwnTitle+len(forkMark))
		require.NotContains(t, title, "\n")
		require.LessOrEqual(t, len(clean(text)), len(text))
	})
}

func TestCleanTitle(t *testing.T) {
	for title, want := range map[string]string{
		"Fix the parser": "Fix the parser",
		"look at this <attached-file name=a.txt> body </attached-file> please":   "look at this please",
		"<system-reminder>today is Monday</system-reminder>\n hi":                "hi",
		"cut <attached-file name=a.txt> body that droid cut off at its limit...": "cut",
		strings.Repeat("x", 100): strings.Repeat("x", 79) + "…",
		"":                       "",
	} {
		require.Equal(t, want, CleanTitle(title))
	}
}
