package show

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/testing/fixture"
)

// played are the lines that a client is shown of a recorded conversation, see
// player.write.
func played(t *testing.T, c *fixture.Conversation, client protocol.ClientCapabilities) []string {
	p := newPlayer(t, c, client)
	for _, s := range c.Steps {
		p.step(s)
	}
	p.passUntil(p.now.Add(time.Hour))
	p.flush()
	return strings.Split(strings.TrimSuffix(p.said.String(), "\n"), "\n")
}

// eachPlayed calls f for each recorded conversation and each of the goldens' clients.
func eachPlayed(t *testing.T, f func(t *testing.T, lines []string)) {
	all, err := fixture.LoadAll("../../testdata/fixtures")
	require.NoError(t, err)
	for _, c := range all {
		for _, g := range goldens {
			t.Run(c.Name+" "+g.section, func(t *testing.T) { f(t, played(t, c, g.client)) })
		}
	}
}

// ownWords is what the agent itself tells in such a line, "" where it tells nothing. What
// the user is to decide on is no news: it is shown with each question.
func ownWords(t *testing.T, line string) string {
	for _, prefix := range []string{"thought new-", "notice new-", "report "} {
		if strings.HasPrefix(line, prefix) {
			text, err := strconv.Unquote(line[strings.IndexByte(line, '"'):])
			require.NoError(t, err)
			return strings.TrimSpace(text)
		}
	}
	var notice protocol.NoticeUpdate
	if json.Unmarshal([]byte(line), &notice) == nil && notice.SessionUpdate == "notice" {
		return strings.TrimSpace(string(notice.Title) + " " + string(notice.Description))
	}
	return ""
}

// Between two prompts or decisions the user reads nothing twice: neither two times in the same
// way, nor in two.
func TestEachNoticeOnce(t *testing.T) {
	own := 0
	eachPlayed(t, func(t *testing.T, lines []string) {
		var said []string
		for _, line := range lines {
			if strings.HasPrefix(line, "> ") {
				said = nil
			}
			words := ownWords(t, line)
			if words == "" {
				continue
			}
			own++
			for _, before := range said {
				require.False(t, strings.Contains(before, words) || strings.Contains(words, before), "%q, and %q", before, words)
			}
			said = append(said, words)
		}
	})
	require.Greater(t, own, 10)
}

// A client that shows notices is told of repeated calls by these alone, in words.
func TestRetriesAsNotices(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{Notices: true})
	var got []string
	for _, ev := range []quirks.Retrying{{Attempt: 1, Reason: `429 {"error":{"message":"slow\ndown"}}`}, {Attempt: 2, Reason: `429 {"error":{"message":"slow\ndown"}}`},
		{Attempt: 3, Reason: "overloaded"}, {Attempt: 4, Reason: "overloaded"}, {Attempt: 5, Reason: "overloaded"}, {Attempt: 6, Reason: "overloaded"}} {
		for _, o := range d.Event(d.moment(), ev, nil) {
			raw, err := json.Marshal(o)
			require.NoError(t, err)
			got = append(got, string(raw))
		}
	}
	require.Equal(t, []string{
		`{"sessionUpdate":"notice","severity":"warning","title":"The model call failed; droid tries it again","description":"429 slow\ndown"}`,
		`{"sessionUpdate":"notice","severity":"warning","title":"The model call failed again; droid goes on trying (attempt 3)","description":"overloaded"}`,
	}, got)
	require.Empty(t, d.EndTurn(false), "how many attempts there were is no news")
}

// maxTitleLength bounds the titles of calls in bytes, but for commands: who allows
// one has to see the whole of it.
const maxTitleLength = 720

// checkTitle says what is wrong with how a title reads.
func checkTitle(raw []byte) error {
	var call protocol.ToolCall
	if err := json.Unmarshal(raw, &call); err != nil {
		return err
	}
	for _, r := range call.Title {
		if unicode.IsControl(r) {
			return fmt.Errorf("%q in the title %q", r, call.Title)
		}
	}
	if len(call.Title) > maxTitleLength && call.Kind != "execute" {
		return fmt.Errorf("the title has %d bytes: %.80q…", len(call.Title), call.Title)
	}
	return nil
}

var rawJSONPattern = regexp.MustCompile(`[{\[]"|^\{\}$`)

func TestTitlesReadWell(t *testing.T) {
	titles := 0
	eachPlayed(t, func(t *testing.T, lines []string) {
		for _, line := range lines {
			line = strings.TrimPrefix(line, "choice ")
			if !strings.Contains(line, `"title"`) || !strings.HasPrefix(line, "{") {
				continue
			}
			titles++
			require.NoError(t, checkTitle([]byte(line)))
			var call protocol.ToolCall
			require.NoError(t, json.Unmarshal([]byte(line), &call))
			require.NotRegexp(t, rawJSONPattern, call.Title)
		}
	})
	require.Greater(t, titles, 100)
}

// What a tool shows that has a view of its own is words, a diff or an output, not what
// droid and the model say to each other.
func TestContentReadsWell(t *testing.T) {
	contents := 0
	eachPlayed(t, func(t *testing.T, lines []string) {
		tools := map[string]string{} // kinds, by id
		for _, line := range lines {
			var call protocol.ToolCall
			if json.Unmarshal([]byte(line), &call) != nil || call.ToolCallID == "" {
				continue
			}
			if call.SessionUpdate == "tool_call" {
				tools[call.ToolCallID] = string(call.Kind)
			}
			for _, c := range call.Content {
				if c.Content != nil && c.Content.Text != nil && tools[call.ToolCallID] != "other" {
					contents++
					text := strings.TrimSpace(*c.Content.Text)
					require.False(t, strings.HasPrefix(text, "{") && json.Valid([]byte(text)), text)
				}
			}
		}
	})
	require.Greater(t, contents, 50)
}

func TestTitleOfAnMCPTool(t *testing.T) {
	for input, want := range map[string]string{
		`{"text":"yo","n":3,"deep":{"a":[1]}}`: `tiny: echo (text: "yo", n: 3, deep: {"a":[1]})`,
		`{"text: \"a\", b":1}`:                 `tiny: echo ("text: \"a\", b": 1)`,
		`{}`:                                   "tiny: echo",
		`"text"`:                               "tiny: echo",
		``:                                     "tiny: echo",
	} {
		require.Equal(t, want, permissionTitle(askedOf("tiny___echo", input, "mcp_tool"), "tiny: echo"))
	}
}

// FuzzTitle: whatever the model writes, the title of a call and of a request for it is
// one line that fits on a screen.
func FuzzTitle(f *testing.F) {
	long := strings.Repeat("long\n\x1b[2K", 300)
	for _, name := range []string{"Read", "Grep", "FetchUrl", "AskUser", "ExitSpecMode", "Task", "tiny___echo", "New\nTool"} {
		for _, field := range []string{"file_path", "pattern", "url", "title", "questionnaire", "description", "text"} {
			text := long
			if field == "questionnaire" {
				text = "1. [question] " + strings.Repeat("Why? ", 300)
			}
			raw, err := json.Marshal(map[string]string{field: text})
			require.NoError(f, err)
			f.Add(name, string(raw))
		}
	}
	f.Fuzz(func(t *testing.T, name, input string) {
		if toolOf(name).kind == "execute" {
			return
		}
		titles := []string{Title(name, json.RawMessage(input), "/workspace")}
		for _, kind := range []string{"mcp_tool", confirmSpec, "edit"} {
			titles = append(titles, permissionTitle(askedOf(name, input, kind), titles[0]))
		}
		for _, title := range titles {
			raw, err := json.Marshal(protocol.ToolCall{ToolCallID: "a", Title: protocol.Line(title)})
			require.NoError(t, err)
			require.NoError(t, checkTitle(raw))
		}
	})
}

func askedOf(name, input, kind string) (tool stream.PermissionToolUse) {
	tool.ToolUse.Name, tool.ToolUse.Input, tool.Confirmation = name, json.RawMessage(input), kind
	tool.Details.Title = parseToolInput(json.RawMessage(input)).Title
	return tool
}
