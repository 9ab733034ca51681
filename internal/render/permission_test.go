package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// askedAbout is a request about these tools with the options of one that droid calls of
// medium risk.
func askedAbout(tools ...stream.PermissionToolUse) quirks.PermissionRequested {
	return quirks.PermissionRequested{RequestID: "r", Tools: tools, Options: []stream.PermissionOption{
		{Value: stream.OptionOnce, Label: "Yes"}, {Value: "proceed_always", Label: "Always allow medium impact commands"}, {Value: stream.OptionCancel, Label: "No"}}}
}

func commandAsked() stream.PermissionToolUse {
	return stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "c", Name: "Execute", Input: json.RawMessage(`{"command":"make"}`)}, Confirmation: "exec",
		Details: stream.PermissionDetails{FullCommand: "make", ImpactLevel: "medium"}}
}

func newFileAsked() stream.PermissionToolUse {
	text := "x\n"
	return stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "e", Name: "Create", Input: json.RawMessage(`{"file_path":"n.txt","content":"x\n"}`)}, Confirmation: "create",
		Details: stream.PermissionDetails{FilePath: "/workspace/n.txt", Content: &text}}
}

// always describes the effect of the lasting option for clients that may not show its name.
const always = "“Always” also switches to Auto (Medium)."

// The request contains everything the user decides on; for clients that show only its title, it is shown once before, in a form that they
// can show.
func TestShownBeforeARequest(t *testing.T) {
	const call, command = "tool_call_update c pending make", "```sh\nmake\n```\n\nRisk: medium"
	const file, diff = "tool_call_update e pending Create n.txt = ", "**n.txt**\n\n```diff\n+x\n```"
	const edited = "“Always allow medium impact commands” also switches to Auto (Low)."
	traits := func(change func(*protocol.ClientProfile)) protocol.ClientCapabilities {
		var c protocol.ClientCapabilities
		change(&c.ClientProfile)
		return c
	}
	for name, tc := range map[string]struct {
		client  protocol.ClientCapabilities
		command []string
		file    []string
	}{
		"all of the request": {traits(func(c *protocol.ClientProfile) { c.ShowsRequestContent = true }), nil, nil},
		"diffs in the call alone": {traits(func(c *protocol.ClientProfile) { c.ShowsRequestContent, c.ShowsCallDiffs = true, true }), nil,
			[]string{"tool_call_update e = diff"}},
		"all of the call": {traits(func(c *protocol.ClientProfile) { c.ShowsCallContent = true }),
			[]string{call + " = " + always + "|" + command}, []string{file + "diff"}},
		"all of the call but diffs": {traits(func(c *protocol.ClientProfile) { c.ShowsCallContent, c.HidesWaitingDiffs = true, true }),
			[]string{call + " = " + always + "|" + command}, []string{file + "diff", "notice new-1: " + diff}},
		"titles": {traits(func(*protocol.ClientProfile) {}),
			[]string{call, "notice new-1: " + always + "\n\nRisk: medium"}, []string{file + "diff", "notice new-1: " + diff}},
		"titles, and one diff": {traits(func(c *protocol.ClientProfile) { c.ShowsLeadingDiff = true }),
			[]string{call, "notice new-1: " + always + "\n\nRisk: medium"}, []string{file + "diff"}},
		"titles, and no diffs": {traits(func(c *protocol.ClientProfile) { c.HidesWaitingDiffs = true }),
			[]string{call, "notice new-1: " + always + "\n\n" + command}, []string{file + "diff", "notice new-1: " + diff}},
		"titles, and names": {traits(func(c *protocol.ClientProfile) { c.HidesWaitingDiffs, c.ShowsOptionNames = true, true }),
			[]string{call, "notice new-1: " + command}, []string{file + "diff", "notice new-1: " + edited + "\n\n" + diff}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHarness(tc.client).Permission(askedAbout(commandAsked()), nil, PermissionContext{Mode: stream.ModeNormal})
			require.Equal(t, tc.command, short(p.Before))
			require.Empty(t, p.After)
			ev := askedAbout(newFileAsked())
			d := newHarness(tc.client)
			d.event(started("e", "Create", string(newFileAsked().ToolUse.Input)))
			require.Equal(t, tc.file, short(d.Permission(ev, d.texts(d.NeededFiles(ev)...), PermissionContext{Mode: stream.ModeNormal}).Before))
		})
	}
	many := ""
	for i := range maxChanges + 1 {
		many += fmt.Sprintf("*** Add File: %d\n+x\n", i)
	}
	for name, tc := range map[string]struct{ patch, want string }{
		"a file goes that no diff shows":        {"*** Delete File: a.bin", "notice new-1: Deletes a.bin"},
		"a file is renamed that no diff shows":  {"*** Update File: a.bin\n*** Move to: b.bin", "notice new-1: Renames a.bin to b.bin"},
		"more than a diff shows":                {"*** Add File: n.txt\n+" + strings.Repeat("x", maxDiff+1), "notice new-1: n.txt is large (1.0 MB); its change is too long to be shown whole. The new text begins:"},
		"more changes than are shown":           {many, "1 more changes are too many to be shown here: 100"},
		"a file goes, and one comes":            {"*** Delete File: a.bin\n*** Add File: n.txt\n+x", "notice new-1: Deletes a.bin\n\n**n.txt**\n\n```diff\n+x\n```"},
		"a patch that nobody knows how to read": {"*** odd", "notice new-1: ```diff\n*** Begin Patch\n*** odd\n*** End Patch\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			patch := "*** Begin Patch\n" + strings.TrimSpace(tc.patch) + "\n*** End Patch"
			tool := stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "e", Name: "ApplyPatch", Input: input(t, map[string]any{"input": patch})}, Confirmation: "apply_patch",
				Details: stream.PermissionDetails{PatchContent: patch}}
			for _, oneDiff := range []bool{false, true} {
				d := newHarness(traits(func(c *protocol.ClientProfile) { c.ShowsLeadingDiff = oneDiff }))
				d.disk["/workspace/a.bin"] = "\xff"
				d.event(started("e", "ApplyPatch", string(tool.ToolUse.Input)))
				ev := askedAbout(tool)
				shown := short(d.Permission(ev, d.texts(d.NeededFiles(ev)...), PermissionContext{Mode: stream.ModeNormal}).Before)
				require.Contains(t, shown[len(shown)-1], tc.want)
			}
		})
	}
}

// A client that shows all of a title need not be shown a command twice, but one that a line cannot show as it is.
func TestCommandInTheTitle(t *testing.T) {
	titles := protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: true, ShowsRequestContent: true, ShowsWholeCommand: true}}
	for command, want := range map[string]string{
		"make all":        "Risk: medium",
		"make &&\nrm x":   "```sh\nmake &&\nrm x\n```\n\nRisk: medium",
		"make \u202eall":  "```sh\nmake \\u202eall\n```\n\nRisk: medium",
		"make   \tall   ": "```sh\nmake   \tall   \n```\n\nRisk: medium",
	} {
		asked := commandAsked()
		asked.Details.FullCommand = command
		step, _ := newHarness(titles).Permission(askedAbout(asked), nil, PermissionContext{Mode: stream.ModeNormal}).Next()
		require.Equal(t, want, texts(step.Choice.ToolCall.Content), command)
		if want == "Risk: medium" {
			require.Equal(t, protocol.Line(command), step.Choice.ToolCall.Title)
		}
	}
}

// A client that shows titles alone gets a command as it is if its title, on one line, would be that of another command, too.
func TestCommandThatATitleCannotShow(t *testing.T) {
	for command, want := range map[string]string{
		"make all":                   "Risk: medium",
		"make \u202eall":             "Risk: medium", // its title has the escape
		": ⏎ rm x":                   "Risk: medium",
		":\nrm x":                    "```sh\n:\nrm x\n```\n\nRisk: medium",
		"python - <<E\nif 0:\n f\nE": "```sh\npython - <<E\nif 0:\n f\nE\n```\n\nRisk: medium",
		"rm a\tb":                    "```sh\nrm a\tb\n```\n\nRisk: medium",
	} {
		asked := commandAsked()
		asked.Details.FullCommand = command
		p := newHarness(protocol.ClientCapabilities{}).Permission(askedAbout(asked), nil, PermissionContext{Mode: stream.ModeNormal})
		require.Equal(t, "notice new-1: "+always+"\n\n"+want, short(p.Before)[1], command)
	}
}

// A client that shows the command of a call by itself need not be shown it twice.
func TestCommandThatTheClientShows(t *testing.T) {
	own := protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: true, ShowsRequestContent: true, ShowsInputCommand: true}}
	content := func(tool stream.PermissionToolUse) string {
		step, _ := newHarness(own).Permission(askedAbout(tool), nil, PermissionContext{Mode: stream.ModeNormal}).Next()
		return texts(step.Choice.ToolCall.Content)
	}
	require.Equal(t, "Risk: medium", content(commandAsked()))
	other := commandAsked()
	other.Details.FullCommand = "make all"
	require.Equal(t, "```sh\nmake all\n```\n\nRisk: medium", content(other), "it is not what the client shows")
	for over, shown := range []bool{false, true} {
		long := commandAsked()
		long.Details.FullCommand = strings.Repeat("x", maxRaw-len(`{"command":""}`)+over)
		long.ToolUse.Input = json.RawMessage(`{"command":"` + long.Details.FullCommand + `"}`)
		require.Equal(t, shown, strings.Contains(content(long), "xxx"), "an input that is too long is not passed on")
	}
	spaced := commandAsked()
	spaced.Details.FullCommand, spaced.ToolUse.Input = "make\u00a0x", json.RawMessage("{\"command\":\"make\u00a0x\"}")
	require.Contains(t, content(spaced), `make\u00a0x`)
	hidden := commandAsked()
	hidden.Details.FullCommand, hidden.ToolUse.Input = "make \u202e", json.RawMessage(`{"command":"make \u202e"}`)
	require.Equal(t, "```sh\nmake \\u202e\n```\n\nRisk: medium", content(hidden), "the client shows it as it is")
	behind := commandAsked()
	behind.ToolUse.Input = json.RawMessage(`{"command":"make","fireAndForget":true}`)
	require.Equal(t, "It goes on in the background when the turn has ended.\n\nRisk: medium", content(behind))
	require.Equal(t, []string{"tool_call_update c pending make", "notice new-1: " + always + "\n\nIt goes on in the background when the turn has ended.\n\nRisk: medium"},
		short(newHarness(protocol.ClientCapabilities{}).Permission(askedAbout(behind), nil, PermissionContext{Mode: stream.ModeNormal}).Before))
	lines := commandAsked()
	lines.Details.FullCommand, lines.ToolUse.Input = "echo\nrm x", json.RawMessage(`{"command":"echo\nrm x"}`)
	require.Equal(t, "Risk: medium", content(lines))
	step, _ := newHarness(own).Permission(askedAbout(lines, commandAsked()), nil, PermissionContext{Mode: stream.ModeNormal}).Next()
	require.Equal(t, "**echo …**|```sh\necho\nrm x\n```\n\nRisk: medium|**make**|```sh\nmake\n```\n\nRisk: medium", texts(step.Choice.ToolCall.Content),
		"a request for several has no input")
}

// A request for several tools has a separate entry. When it is answered, that ends,
// and the edits show their own diffs.
func TestRequestForSeveralTools(t *testing.T) {
	d := newHarness(named)
	d.event(started("c", "Execute", `{"command":"make"}`), started("e", "Create", `{"file_path":"n.txt","content":"x\n"}`))
	ev := askedAbout(commandAsked(), newFileAsked())
	files := d.texts(d.NeededFiles(ev)...)
	require.Equal(t, []string{"tool_call c pending make", "tool_call e pending Create n.txt"}, short(d.Event(d.moment(), ev, files)))
	p := d.Permission(ev, files, PermissionContext{Mode: stream.ModeNormal})
	require.Equal(t, []string{"tool_call ask-r pending 2 actions: make; Create n.txt"}, short(p.Before))
	step, _ := p.Next()
	require.Equal(t, "ask-r", step.Choice.ToolCall.ToolCallID)
	require.Equal(t, "**make**|```sh\nmake\n```\n\nRisk: medium|**Create n.txt**|diff", texts(step.Choice.ToolCall.Content))
	require.Equal(t, []protocol.Location{{Path: "/workspace/n.txt", Line: 1}}, step.Choice.ToolCall.Locations)
	require.Equal(t, []string{"tool_call_update ask-r completed Asked about 2 actions: make; Create n.txt = make\n\nCreate n.txt", "tool_call_update e = diff"}, short(p.After))

	one, two := newFileAsked(), newFileAsked()
	one.ToolUse.Input, two.ToolUse.Input = json.RawMessage(`{"file_path":"pkg/__init__.py","content":"x\n"}`), json.RawMessage(`{"file_path":"b.py","content":"x\n"}`)
	p = newHarness(named).Permission(askedAbout(one, two), nil, PermissionContext{Mode: stream.ModeNormal})
	step, _ = p.Next()
	require.Regexp(t, `\*\*`+"`Create pkg/__init__.py`"+`\*\*\|.*\|\*\*Create b.py\*\*`, strings.ReplaceAll(texts(step.Choice.ToolCall.Content), "\n", ""))
	require.Equal(t, "`Create pkg/__init__.py`\n\nCreate b.py", texts(p.After[0].(protocol.ToolCall).Content))
}

// A command that the sandbox blocks has a different title while the user is asked about it.
func TestSandboxTitle(t *testing.T) {
	tool := newFileAsked()
	tool.Confirmation, tool.Details = "sandbox_violation", stream.PermissionDetails{Violating: "Create", Target: "/out/n.txt", Operation: "write"}
	p := newHarness(named).Permission(askedAbout(tool), nil, PermissionContext{})
	step, _ := p.Next()
	require.EqualValues(t, "Blocked by droid's sandbox (write to /out/n.txt): Create n.txt", step.Choice.ToolCall.Title)
	require.Equal(t, []string{"tool_call_update e Create n.txt"}, short(p.After))
}

func TestPermissionTitles(t *testing.T) {
	mcp := stream.PermissionToolUse{ToolUse: stream.ToolUse{Input: json.RawMessage(`{ "a": 1 }`)}, Confirmation: "mcp_tool"}
	empty := stream.PermissionToolUse{ToolUse: stream.ToolUse{Input: json.RawMessage(`{}`)}, Confirmation: "mcp_tool"}
	plan := stream.PermissionToolUse{Confirmation: confirmSpec, Details: stream.PermissionDetails{Title: "Go"}}
	spaced := stream.PermissionToolUse{Confirmation: "exec", Details: stream.PermissionDetails{FullCommand: "make\u2800x"}}
	for want, tool := range map[string]stream.PermissionToolUse{"make": commandAsked(), `make\u2800x`: spaced, "other": newFileAsked(), "other (a: 1)": mcp, "Approve plan: Go": plan} {
		require.Equal(t, want, permissionTitle(tool, "other"))
	}
	require.Equal(t, "other", permissionTitle(empty, "other"))
	require.Equal(t, "other", permissionTitle(stream.PermissionToolUse{Confirmation: "exec"}, "other"), "droid does not say the command")
	require.Equal(t, "other", permissionTitle(stream.PermissionToolUse{Details: commandAsked().Details}, "other"), "that is no command to be run")
}

// The life of an edit: planned from its input, as droid describes it when it asks, and as
// the disk has it in the end.
func TestLifeOfAnEdit(t *testing.T) {
	d := newHarness(named)
	d.disk["/workspace/a.txt"] = "one\ntwo\n"
	input := `{"file_path":"a.txt","old_str":"two","new_str":"2"}`
	begin := started("t", "Edit", input)
	require.Equal(t, []string{"/workspace/a.txt"}, d.NeededFiles(begin))
	require.Empty(t, d.event(begin))
	d.disk["/workspace/a.txt"] = "two\n" // after it was read
	out := d.Event(d.moment(), ran("t"), nil)
	require.Equal(t, []protocol.Location{{Path: "/workspace/a.txt", Line: 2}}, out[0].(protocol.ToolCall).Locations, "as it was when the call began")
	d.disk["/workspace/a.txt"] = "one\n2\n"
	end := ended("t", "Edit", "done")
	require.Equal(t, []string{"/workspace/a.txt"}, d.NeededFiles(end))
	out = d.Event(d.moment(), end, d.texts(d.NeededFiles(end)...))
	diff := out[0].(protocol.ToolCall).Content[0].Diff
	require.Equal(t, "one\ntwo\n", *diff.OldText)
	require.Equal(t, "one\n2\n", *diff.NewText)

	d.event(begin, ran("t"))
	failed := ended("t", "Edit", "no")
	failed.IsError = true
	require.Empty(t, d.NeededFiles(failed))
	require.Equal(t, []string{"tool_call_update t failed = diff|no"}, d.event(failed), "what it was to do, and why it did not")
	d.event(begin, ran("t"))
	unfinished := quirks.ToolEnded{ID: "t", Name: "Edit", IsError: true, Unfinished: true}
	require.Empty(t, d.NeededFiles(unfinished))
	require.Equal(t, []string{"tool_call_update t failed"}, d.event(unfinished))
}

func TestNeededFiles(t *testing.T) {
	d := newHarness(named)
	for name, tc := range map[string]struct {
		ev   quirks.Event
		want []string
	}{
		"a read":                 {started("t", "Read", `{"file_path":"a.txt"}`), nil},
		"an edit":                {started("t", "MultiEdit", `{"file_path":"/x/a.txt"}`), []string{"/x/a.txt"}},
		"an input":               {quirks.ToolInput{Name: "Create", Input: json.RawMessage(`{"file_path":"a.txt"}`)}, []string{"/workspace/a.txt"}},
		"nothing known yet":      {started("t", "Create", `{}`), nil},
		"nonsense":               {started("t", "Create", `{"file_path":7}`), nil},
		"a patch":                {started("t", "ApplyPatch", `{"input":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** Delete File: /c\n*** End Patch"}`), []string{"/workspace/a", "/workspace/b", "/c"}},
		"no patch":               {started("t", "ApplyPatch", `{"input":"*** odd"}`), nil},
		"a permission":           {askedAbout(commandAsked(), newFileAsked()), []string{"/workspace/n.txt"}},
		"the end of another":     {ended("u", "Edit", "x"), nil},
		"what the model says":    {quirks.Text{}, nil},
		"tools of an MCP server": {started("t", "x___Create", `{"file_path":"a.txt"}`), nil},
	} {
		require.Equal(t, tc.want, d.NeededFiles(tc.ev), name)
	}
	d.SetCWD("/other")
	require.Equal(t, []string{"/other/a.txt"}, d.NeededFiles(started("t", "Create", `{"file_path":"a.txt"}`)))
}

// droid counts the lines of a file as its version does.
func TestLinesOfADroid(t *testing.T) {
	for fromOne, want := range map[bool]int{true: 7, false: 8} {
		d := newHarness(named)
		d.SetLinesFromOne(fromOne)
		out := d.History(d.moment(), started("t", "Read", `{"file_path":"a.txt","offset":7}`))
		require.Equal(t, want, out[0].(protocol.ToolCall).Locations[0].Line)
	}
}

// In the end the call shows droid's text of the permission request, if nothing better is known.
func TestAskedIsWhatIsShownInTheEnd(t *testing.T) {
	d := newHarness(named)
	d.event(started("e", "Create", `{"file_path":"n.txt","content":"y\n"}`), ran("e"))
	d.Permission(askedAbout(newFileAsked()), d.texts("/workspace/n.txt"), PermissionContext{})
	out := d.Event(d.moment(), ended("e", "Create", "done"), nil)
	require.Equal(t, "x\n", *out[0].(protocol.ToolCall).Content[0].NewText)

	d.event(started("t", "ExitSpecMode", `{"plan":"# Model's"}`), ran("t"))
	ev := planAsked()
	d.Permission(ev, nil, PermissionContext{})
	require.Equal(t, []string{"tool_call_update t completed = # Do  it\n|no"}, d.event(ended("t", "ExitSpecMode", "no")))
	d.event(started("t", "ExitSpecMode", `{"plan":"# Model's"}`), ran("t"))
	ev.Tools[0].Confirmation = "exec"
	d.Permission(ev, nil, PermissionContext{})
	require.Equal(t, []string{"tool_call_update t completed = # Model's|no"}, d.event(ended("t", "ExitSpecMode", "no")), "that was no plan")
}
