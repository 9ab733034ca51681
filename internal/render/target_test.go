package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// toolAsked is a request about a tool with this input.
func toolAsked(name, confirmation, input string) stream.PermissionToolUse {
	return stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "e", Name: name, Input: json.RawMessage(input)}, Confirmation: confirmation}
}

// A request names the file that a path leads to: in its title, in words, in its places and diffs.
func TestRequestNamesTheRealFile(t *testing.T) {
	const create = `{"file_path":"docs/n.md","content":"x\n"}`
	patch, err := json.Marshal(map[string]string{"input": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Add File: build/b.txt\n+x\n*** End Patch"})
	require.NoError(t, err)
	sandbox := toolAsked("Read", "sandbox_violation", `{"file_path":"docs/n.md"}`)
	sandbox.Details = stream.PermissionDetails{Violating: "Read", Operation: "read", Target: "/workspace/docs/n.md"}
	other := newFileAsked()
	other.Details.FilePath = "/workspace/build/n.txt"
	for name, tc := range map[string]struct {
		tool    stream.PermissionToolUse
		real    map[string]string
		more    []string // additional directories
		title   string
		content string
		places  []string // the paths of locations, then those of diffs
	}{
		"it is what it says": {toolAsked("Create", "create", create), nil, nil,
			"Create docs/n.md", "diff", []string{"/workspace/docs/n.md", "/workspace/docs/n.md"}},
		"a link to the home": {toolAsked("Create", "create", create), map[string]string{"/workspace/docs/n.md": "/home/u/.bashrc"}, nil,
			"Create /home/u/.bashrc (linked from docs/n.md)", "`docs/n.md` leads through a symbolic link to `/home/u/.bashrc`, outside the session's directories.|diff",
			[]string{"/home/u/.bashrc", "/home/u/.bashrc"}},
		"a link within the project": {toolAsked("Create", "create", create), map[string]string{"/workspace/docs/n.md": "/workspace/Makefile"}, nil,
			"Create Makefile (linked from docs/n.md)", "`docs/n.md` leads through a symbolic link to `Makefile`.|diff", []string{"/workspace/Makefile", "/workspace/Makefile"}},
		"a link to an additional directory": {toolAsked("Create", "create", create), map[string]string{"/workspace/docs/n.md": "/lib/n.md"}, []string{"/lib"},
			"Create /lib/n.md (linked from docs/n.md)", "`docs/n.md` leads through a symbolic link to `/lib/n.md`.|diff", []string{"/lib/n.md", "/lib/n.md"}},
		"the user's own link to the directory": {toolAsked("Create", "create", create), map[string]string{"/workspace": "/disk/w", "/workspace/docs/n.md": "/disk/w/docs/n.md"}, nil,
			"Create docs/n.md", "diff", []string{"/workspace/docs/n.md", "/workspace/docs/n.md"}},
		"a directory that cannot be checked": {toolAsked("Create", "create", create), map[string]string{"/workspace": ""}, nil,
			"Create docs/n.md", "`docs/n.md` is outside the session's directories.|diff", []string{"/workspace/docs/n.md", "/workspace/docs/n.md"}},
		"it cannot be checked": {toolAsked("Create", "create", create), map[string]string{"/workspace/docs/n.md": ""}, nil,
			"Create docs/n.md (where it leads could not be checked)", "Where `docs/n.md` leads could not be checked. It may be another file.|diff",
			[]string{"/workspace/docs/n.md", "/workspace/docs/n.md"}},
		"outside, as it says": {toolAsked("Create", "create", `{"file_path":"/home/u/x","content":"x"}`), nil, nil,
			"Create /home/u/x", "`/home/u/x` is outside the session's directories.|diff", []string{"/home/u/x", "/home/u/x"}},
		"a name like a directory's": {toolAsked("Create", "create", `{"file_path":"/workspace2/x","content":"x"}`), nil, nil,
			"Create /workspace2/x", "`/workspace2/x` is outside the session's directories.|diff", []string{"/workspace2/x", "/workspace2/x"}},
		"behind a link, and up": {toolAsked("Create", "create", `{"file_path":"build/../n.md","content":"x"}`), map[string]string{"/workspace/build/../n.md": "/home/n.md"}, nil,
			"Create /home/n.md (linked from build/../n.md), n.md", "`build/../n.md` leads through a symbolic link to `/home/n.md`, outside the session's directories.|diff", []string{"/home/n.md", "/home/n.md"}},
		"up and out, without a link": {toolAsked("Create", "create", `{"file_path":"docs/../../n.md","content":"x"}`), map[string]string{"/workspace/docs/../../n.md": "/n.md"}, nil,
			"Create docs/../../n.md", "`/n.md` is outside the session's directories.|diff", []string{"/n.md", "/n.md"}},
		"up, without a link": {toolAsked("Create", "create", `{"file_path":"docs/../n.md","content":"x"}`), map[string]string{"/workspace/docs/../n.md": "/workspace/n.md"}, nil,
			"Create n.md", "diff", []string{"/workspace/n.md", "/workspace/n.md"}},
		"one of several files": {toolAsked("ApplyPatch", "apply_patch", string(patch)), map[string]string{"/workspace/build/b.txt": "/home/u/b.txt"}, nil,
			"ApplyPatch /home/u/b.txt (linked from build/b.txt), a.txt", "`build/b.txt` leads through a symbolic link to `/home/u/b.txt`, outside the session's directories.|diff|diff",
			[]string{"/workspace/a.txt", "/home/u/b.txt", "/workspace/a.txt", "/home/u/b.txt"}},
		"what droid names, not the model": {other, map[string]string{"/workspace/build/n.txt": "/home/u/n.txt"}, nil,
			"Create /home/u/n.txt (linked from build/n.txt), n.txt", "`build/n.txt` leads through a symbolic link to `/home/u/n.txt`, outside the session's directories.|The text for build/n.txt:\n\n```\nx\n```",
			[]string{"/home/u/n.txt"}},
		"a read that the sandbox holds back": {sandbox, map[string]string{"/workspace/docs/n.md": "/home/u/.ssh/id"}, nil,
			"Blocked by droid's sandbox (read /workspace/docs/n.md): Read /home/u/.ssh/id (linked from docs/n.md)",
			"`docs/n.md` leads through a symbolic link to `/home/u/.ssh/id`, outside the session's directories.|**Blocked by droid's sandbox:** Read wants to read\n\n```\n/workspace/docs/n.md\n```",
			[]string{"/home/u/.ssh/id"}},
		"a name that would hide": {toolAsked("Create", "create", create), map[string]string{"/workspace/docs/n.md": "/home/u/a`\u202e\nb"}, nil,
			`Create /home/u/a` + "`" + `\u202e ⏎ b (linked from docs/n.md)`, "`docs/n.md` leads through a symbolic link to `` /home/u/a`\\u202e ⏎ b ``, outside the session's directories.|diff",
			[]string{"/home/u/a`\u202e\nb", "/home/u/a`\u202e\nb"}},
		"a command is shown as it is": {commandAsked(), map[string]string{"/workspace": ""}, nil, "make", "```sh\nmake\n```\n\nRisk: medium", nil},
		"a tool of an MCP server":     {toolAsked("x___Create", "mcp_tool", `{"path":"a"}`), map[string]string{"/workspace/a": "/b"}, nil, `x: Create a (path: "a")`, "x: Create\n\n```json\n{\n  \"path\": \"a\"\n}\n```", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: true, ShowsRequestContent: true}})
			d.real = tc.real
			d.event(started("e", tc.tool.ToolUse.Name, string(tc.tool.ToolUse.Input)))
			ev := quirks.PermissionRequested{RequestID: "r", Tools: []stream.PermissionToolUse{tc.tool}, Options: []stream.PermissionOption{{Value: stream.OptionOnce, Label: "Yes"}, {Value: stream.OptionCancel, Label: "No"}}}
			step, _ := d.Permission(ev, d.texts(d.NeededFiles(ev)...), PermissionContext{Mode: stream.ModeNormal, Directories: tc.more}).Next()
			call := step.Choice.ToolCall
			require.EqualValues(t, tc.title, call.Title)
			require.Equal(t, tc.content, texts(call.Content))
			var places []string
			for _, l := range call.Locations {
				places = append(places, l.Path)
			}
			for _, c := range call.Content {
				if c.Diff != nil {
					places = append(places, c.Path)
				}
			}
			require.Equal(t, tc.places, places)
		})
	}
}

// Clients that show no more of a request than its title are shown it before, and a request for several tools names it, too.
func TestRealFileIsShownBefore(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	d.real = map[string]string{"/workspace/n.txt": "/home/u/.bashrc"}
	d.event(started("e", "Create", string(newFileAsked().ToolUse.Input)))
	ev := askedAbout(newFileAsked())
	before := short(d.Permission(ev, d.texts(d.NeededFiles(ev)...), PermissionContext{Mode: stream.ModeNormal}).Before)
	require.Equal(t, "tool_call_update e pending Create /home/u/.bashrc (linked from n.txt) = diff", before[0])
	require.Contains(t, before[1], "`n.txt` leads through a symbolic link to `/home/u/.bashrc`, outside")
	require.Contains(t, before[1], "**/home/u/.bashrc**\n\n```diff\n+x\n```")
	p := d.Permission(askedAbout(commandAsked(), newFileAsked()), nil, PermissionContext{Mode: stream.ModeNormal})
	require.Contains(t, strings.Join(short(p.Before), ""), "2 actions: make; Create /home/u/.bashrc (linked from n.txt)")
}

func TestTargetMoved(t *testing.T) {
	require.Equal(t, "`/w/a` led to `/w/a` when the permission was asked for, and leads to `/home/u/.bashrc` now, so this was refused. If it is still wanted, droid has to ask again.",
		TargetMoved("/w/a", "/w/a", "/home/u/.bashrc"))
	require.Contains(t, TargetMoved("/w/a", "/w/a", ""), "leads to a file that could not be checked now")
}
