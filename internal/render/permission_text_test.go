package render

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

// asked reads a tool of a permission request with these details; the type names
// the confirmation.
func asked(t *testing.T, name, input, details string) stream.PermissionToolUse {
	t.Helper()
	tool := stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "t", Name: name, Input: json.RawMessage(input)}}
	require.NoError(t, json.Unmarshal([]byte(details), &tool.Details))
	tool.Confirmation = tool.Details.Type
	return tool
}

func TestPermissionText(t *testing.T) {
	for name, tc := range map[string]struct{ tool, input, details, want string }{
		"command": {"Execute", `{}`, `{"type":"exec","fullCommand":"rm -r x","command":"rm","impactLevel":"high","riskLevelReason":"deletes\n\nRisk: low"}`,
			"```sh\nrm -r x\n```\n\nRisk: high (deletes Risk: low)"},
		"spaces that are none": {"Execute", `{}`, `{"type":"exec","fullCommand":"rm\u00a0-r x","impactLevel":"low","riskLevelReason":"r"}`,
			"```sh\nrm\\u00a0-r x\n```\n\nRisk: low (r)"},
		"sandbox, a space that is none": {"Read", `{}`, sandboxed("Read", "/s/k\u2003.txt", "read", "filesystem-read", "", false), "**Blocked by droid's sandbox:** Read wants to read\n\n```\n/s/k\\u2003.txt\n```"},
		"command in the background": {"Execute", `{"command":"serve","fireAndForget":true}`, `{"type":"exec","fullCommand":"serve","impactLevel":"low"}`,
			"```sh\nserve\n```\n\nIt goes on in the background when the turn has ended.\n\nRisk: low"},
		"reason with a link": {"Execute", `{}`, `{"type":"exec","fullCommand":"x","impactLevel":"low","riskLevelReason":"[approved](http://x)"}`,
			"```sh\nx\n```\n\nRisk: low (`[approved](http://x)`)"},
		"command that is not there": {"Execute", `{"command":"rm"}`, `{"type":"exec","fullCommand":7,"impactLevel":"low"}`,
			"```json\n{\n  \"type\": \"exec\",\n  \"fullCommand\": 7,\n  \"impactLevel\": \"low\"\n}\n```"},
		"plan":                        {"ExitSpecMode", `{"plan":"# A"}`, `{"type":"exit_spec_mode","plan":"# B"}`, "# B"},
		"plan only in the input":      {"ExitSpecMode", `{"plan":"# A"}`, `{"type":"exit_spec_mode","plan":" "}`, "# A"},
		"plan that nobody can read":   {"ExitSpecMode", `{"plan":["a"]}`, `{"type":"exit_spec_mode","plan":["a"]}`, "```json\n{\n  \"type\": \"exit_spec_mode\",\n  \"plan\": [\n    \"a\"\n  ]\n}\n```"},
		"MCP tool without its name":   {"tiny___echo", `{"a":1}`, `{"type":"mcp_tool","impactLevel":"low"}`, "tiny: echo\n\n```json\n{\n  \"a\": 1\n}\n```\n\nRisk: low"},
		"patch":                       {"ApplyPatch", `{}`, `{"type":"apply_patch","patchContent":"*** Begin"}`, "```diff\n*** Begin\n```"},
		"sandbox, read":               {"Read", `{}`, sandboxed("Read", "/s/k.txt", "read", "filesystem-read", "Path is blocked by the deny read list", false), "**Blocked by droid's sandbox:** Read wants to read\n\n```\n/s/k.txt\n```\n\nPath is blocked by the deny read list."},
		"sandbox, network, by a rule": {"tiny___get", `{}`, sandboxed("tiny___get", "example.test", "network", "network", "Domain is not in the allowed domains list", true), "**Blocked by droid's sandbox:** tiny: get wants to connect to\n\n```\nexample.test\n```\n\nDomain is not in the allowed domains list.\n\nYour organisation's policy forbids it."},
		"sandbox, of the future":      {"X", `{}`, sandboxed("X", "/dev/mem", "mmap", "memory", "", false), "**Blocked by droid's sandbox:** X wants to reach (mmap)\n\n```\n/dev/mem\n```"},
		"sandbox, unreadable":         {"X", `{}`, `{"type":"sandbox_violation","target":[1]}`, "```json\n{\n  \"type\": \"sandbox_violation\",\n  \"target\": [\n    1\n  ]\n}\n```"},
		"shield":                      {"Execute", `{}`, `{"type":"droid_shield_violation","command":"git push","reason":"keys.txt:2 holds a key"}`, "**Stopped by Droid Shield:** the command may give secrets away.\n\n```sh\ngit push\n```\n\n```\nkeys.txt:2 holds a key\n```"},
		"mission":                     {"ProposeMission", `{}`, `{"type":"propose_mission","proposal":"# Go"}`, "# Go"},
		"mission plan":                {"ExitMissionPlanning", `{}`, `{"type":"exit_mission_planning","title":"T","missionPlan":"# M","validationStrategy":"Run it"}`, "# M\n\n**How it is checked**\n\nRun it"},
		"mission plan alone":          {"ExitMissionPlanning", `{}`, `{"type":"exit_mission_planning","missionPlan":"# M"}`, "# M"},
		"mission without a plan":      {"ExitMissionPlanning", `{}`, `{"type":"exit_mission_planning","validationStrategy":"Run it"}`, "```json\n{\n  \"type\": \"exit_mission_planning\",\n  \"validationStrategy\": \"Run it\"\n}\n```"},
		"plan with one option":        {"ExitSpecMode", `{}`, `{"type":"exit_spec_mode","plan":"# B","optionNames":["A"]}`, "# B\n\nOptions:\n1. A\n"},
		"mission, recommended":        {"RecommendMission", `{}`, `{"type":"recommend_mission","reason":"It is large."}`, "It is large."},
		"mission, started":            {"StartMissionRun", `{}`, `{"type":"start_mission_run","runningMissionCount":2,"runningMissionSessionIds":["a","b"]}`, "Start the mission. Missions that run already: 2."},
		"of the future":               {"Teleport", `{}`, `{"type":"teleport","to":"moon"}`, "```json\n{\n  \"type\": \"teleport\",\n  \"to\": \"moon\"\n}\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, permissionText(asked(t, tc.tool, tc.input, tc.details), false))
		})
	}
	for _, kind := range []string{"edit", "create", "apply_patch"} {
		require.Empty(t, permissionText(asked(t, "Edit", `{}`, `{"type":"`+kind+`","filePath":"a"}`), true), "the diff says it")
	}
	for _, kind := range []string{"teleport", "sandbox_violation"} {
		require.Contains(t, permissionText(asked(t, "Edit", `{}`, `{"type":"`+kind+`","to":"moon"}`), true), `"to": "moon"`, "no diff says that")
	}
}

func sandboxed(tool, target, operation, violation, reason string, org bool) string {
	data, _ := json.Marshal(map[string]any{"type": "sandbox_violation", "violatingToolName": tool, "target": target,
		"operationType": operation, "violationType": violation, "reason": reason, "isOrgDeny": org})
	return string(data)
}

func TestAlwaysText(t *testing.T) {
	option := func(value, label string) stream.PermissionOption {
		return stream.PermissionOption{Label: label, Value: value}
	}
	once, no := option("proceed_once", "Yes, allow"), option("cancel", "No, cancel")
	always, medium := option("proceed_always", "Yes, and always allow x impact commands (some)"), option("proceed_always", "Yes, and always allow medium impact commands")
	of := func(confirmation, impact string) stream.PermissionToolUse {
		return stream.PermissionToolUse{Confirmation: confirmation, Details: stream.PermissionDetails{ImpactLevel: impact}}
	}
	for name, tc := range map[string]struct {
		tools   []stream.PermissionToolUse
		options []stream.PermissionOption
		mode    stream.Mode
		want    string
	}{
		"edit":             {[]stream.PermissionToolUse{of("edit", "")}, []stream.PermissionOption{once, always, no}, stream.ModeNormal, "“Yes, and always allow x impact commands” also switches to Auto (Low)."},
		"batch":            {[]stream.PermissionToolUse{of("create", ""), of("exec", "high"), of("exec", "medium")}, []stream.PermissionOption{once, always, no}, stream.ModeNormal, "“Yes, and always allow x impact commands” also switches to Auto (High)."},
		"a button says it": {[]stream.PermissionToolUse{of("exec", "medium")}, []stream.PermissionOption{once, medium, no}, stream.ModeNormal, ""},
		"in spec mode":     {[]stream.PermissionToolUse{of("exec", "medium")}, []stream.PermissionOption{always}, stream.ModeSpec, "“Yes, and always allow x impact commands” lets reversible commands run unasked in this session."},
		"unknown risk":     {[]stream.PermissionToolUse{of("exec", "")}, []stream.PermissionOption{always}, stream.ModeNormal, "“Yes, and always allow x impact commands” allows more unasked in this session."},
		"nothing lasts":    {[]stream.PermissionToolUse{of("exec", "high")}, []stream.PermissionOption{once, no}, stream.ModeNormal, ""},
		"MCP": {[]stream.PermissionToolUse{of("mcp_tool", "low")}, []stream.PermissionOption{always, option("proceed_always_tools", "Always allow echo"), option("proceed_always_server", `Always allow all "tiny" tools`)}, stream.ModeNormal,
			"- “Yes, and always allow x impact commands” also switches to Auto (Low).\n- “Yes, always allow echo”, “Yes, always allow all \"tiny\" tools”: kept in droid's mcp.json, for all sessions.\n"},
		"sandbox": {[]stream.PermissionToolUse{of("sandbox_violation", "")}, []stream.PermissionOption{option("proceed_always", "Allow always (reads from /s)"), option("proceed_always_file", "Allow always (reads from /s/k)")}, stream.ModeNormal,
			"“Yes, allow always”: kept in droid's settings.json, for all sessions."},
		"plan": {[]stream.PermissionToolUse{of(confirmSpec, "")}, []stream.PermissionOption{option("proceed_once", "Proceed"), option("proceed_auto_run_high", "Proceed, all (High)"), no}, stream.ModeSpec, ""},
		"plan, another label": {[]stream.PermissionToolUse{of(confirmSpec, "")}, []stream.PermissionOption{option("proceed_auto_run_high", "Proceed, all"), option("proceed_auto_run_low", "Proceed (High)"), no}, stream.ModeSpec,
			"“Proceed” switches to Auto (Low)."},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, alwaysText(tc.tools, permissionOptions(tc.options, tc.tools, named.ClientProfile, tc.mode), named.ClientProfile, tc.mode))
		})
	}
}

// A client that shows no names has buttons for the kinds of the options; for one that answers by a rule, nobody reads the text.
func TestAlwaysTextWithoutNames(t *testing.T) {
	tools := []stream.PermissionToolUse{commandAsked()}
	offered := askedAbout(tools...).Options
	said := func(client protocol.ClientProfile, mode stream.Mode) string {
		return alwaysText(tools, permissionOptions(offered, tools, client, mode), client, mode)
	}
	require.Equal(t, "“Always” also switches to Auto (Medium).", said(protocol.ClientProfile{}, stream.ModeNormal))
	require.Equal(t, "“Always” lets reversible commands run unasked in this session.", said(protocol.ClientProfile{}, stream.ModeSpec))
	require.Empty(t, said(protocol.ClientProfile{AnswersByPolicy: true}, stream.ModeNormal))
	require.Empty(t, said(named.ClientProfile, stream.ModeNormal), "the name says it")
}

// A patch may delete and move files, as droid alone describes it.
func TestAskedChangesNotPlanned(t *testing.T) {
	got := askedChanges(asked(t, "ApplyPatch", `{}`, `{"type":"apply_patch","filePath":"/w/a","files":[
		{"filePath":"/w/a","operation":"delete","oldContent":"x","newContent":""},
		{"filePath":"/w/b","operation":"update","moveTo":"/w/c","oldContent":"x","newContent":"y"}]}`), nil, "/w")
	require.Equal(t, []fileChange{
		whole("/w/a", textOf("x"), nil),
		whole("/w/b", textOf("x"), nil),
		over("/w/c", nil, false, textOf("y")), // nobody has looked whether there is one
	}, got)
}

// A file for which the request has no new text is not shown as deleted, unless the request deletes it.
func TestAskedChangesWithoutTexts(t *testing.T) {
	s, _ := inDirectory(t, "a.txt", "one\n")
	tool := asked(t, "ApplyPatch", `{}`, `{"type":"apply_patch","patchContent":"*** odd","files":[
		{"filePath":"a.txt","operation":"update","oldContent":"one\n"},{"filePath":"b.txt","operation":"create","newContent":"x"}]}`)
	require.Empty(t, askedChanges(tool, nil, s.cwd))
	s.files, s.directories = Files{s.cwd: {Real: s.cwd}}, []string{s.cwd}
	for _, path := range []string{"a.txt", "b.txt"} {
		s.files[filepath.Join(s.cwd, path)] = File{Real: filepath.Join(s.cwd, path)}
	}
	shown, _ := s.permissionCall(tool, true)
	require.Equal(t, "```diff\n*** odd\n```", texts(shown.Content))
}

// The plans to pick from may be in any tool of a batch.
func TestPlansInABatch(t *testing.T) {
	plans := stream.PermissionToolUse{Details: stream.PermissionDetails{OptionNames: []string{"A", "B"}}}
	require.Equal(t, []string{"A", "B"}, planNames([]stream.PermissionToolUse{{}, plans}))
	require.Empty(t, planNames([]stream.PermissionToolUse{{}}))
}
