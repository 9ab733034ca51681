package render

import (
	"cmp"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

func TestPermissionOptions(t *testing.T) {
	exec := []stream.PermissionToolUse{{Confirmation: "exec", Details: stream.PermissionDetails{ImpactLevel: "medium"}}}
	got := permissionOptions([]stream.PermissionOption{
		{Label: "", Value: "surprise"},
		{Label: "No", Value: "cancel"},
		{Label: "More", Value: "proceed_surprise"},
		{Label: "Yes, and always allow medium impact commands (some)", Value: "proceed_always"},
		{Label: "New", Value: "proceed_new_session_high"},
		{Label: "Edit", Value: "proceed_edit"},
		{Label: "Report", Value: "proceed_report_false_positive"},
		{Label: "Tools", Value: "proceed_always_tools"},
		{Label: "nothing", Value: ""},
		{Label: "Yes", Value: "proceed_once"},
	}, exec, protocol.ClientProfile{ShowsOptionNames: true}, stream.ModeNormal)
	require.Equal(t, []protocol.PermissionOption{
		{OptionID: "proceed_once", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: "proceed_always", Name: "Yes, always if reversible: Auto (Medium)", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "surprise", Name: "surprise", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "proceed_surprise", Name: "More", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "proceed_report_false_positive", Name: "Report", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: "proceed_always_tools", Name: "Tools", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "cancel", Name: "No", Kind: acp.PermissionOptionKindRejectOnce},
	}, got)
}

// A client that is not known to show the names gets the least option of each kind, in
// droid's words, and none that gives away all.
func TestOptionsWithoutNames(t *testing.T) {
	tool := func(impact string) []stream.PermissionToolUse {
		return []stream.PermissionToolUse{{Confirmation: "mcp_tool", Details: stream.PermissionDetails{ImpactLevel: impact}}}
	}
	offered := func(impact string, more ...stream.PermissionOption) []stream.PermissionOption {
		return append(more, stream.PermissionOption{Value: "cancel", Label: "No"}, stream.PermissionOption{Value: "surprise", Label: "Surprise"},
			stream.PermissionOption{Value: "proceed_always", Label: "Always allow " + impact + " impact commands"}, stream.PermissionOption{Value: "proceed_once", Label: "Yes"})
	}
	once := protocol.PermissionOption{OptionID: "proceed_once", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce}
	no := protocol.PermissionOption{OptionID: "cancel", Name: "No", Kind: acp.PermissionOptionKindRejectOnce}
	nobody := protocol.ClientProfile{}
	require.Equal(t, []protocol.PermissionOption{once, no}, permissionOptions(offered("high"), tool("high"), nobody, stream.ModeNormal))
	require.Equal(t, []protocol.PermissionOption{once, {OptionID: "proceed_always", Name: "Always allow medium impact commands", Kind: acp.PermissionOptionKindAllowAlways}, no},
		permissionOptions(offered("medium"), tool("medium"), nobody, stream.ModeNormal))
	require.Equal(t, []protocol.PermissionOption{once, {OptionID: "proceed_always_tools", Name: "Tools", Kind: acp.PermissionOptionKindAllowAlways}, no},
		permissionOptions(offered("low", stream.PermissionOption{Value: "proceed_always_tools", Label: "Tools"}), tool("low"), nobody, stream.ModeNormal), "one of a kind")
	believed := permissionOptions(offered("medium"), tool("medium"), protocol.ClientProfile{AssumedCompliant: true}, stream.ModeNormal)
	require.Len(t, believed, 3, "one of a kind")
	require.EqualValues(t, "Yes, always if reversible: Auto (Medium)", believed[1].Name, "it is read")
}

// The permission that an option grants depends on the request; if it is unknown, a client that acts on kinds does not get the option.
func TestGrantOf(t *testing.T) {
	of := func(confirmation, impact string) stream.PermissionToolUse {
		return stream.PermissionToolUse{Confirmation: confirmation, Details: stream.PermissionDetails{ImpactLevel: impact}}
	}
	const low, high = "Always allow low impact commands", "Always allow high impact commands"
	for name, tc := range map[string]struct {
		value, label string
		tools        []stream.PermissionToolUse
		want         grant
	}{
		"once":                        {"proceed_once", "Yes", []stream.PermissionToolUse{of("teleport", "")}, grantOnce},
		"low":                         {"proceed_always", low, []stream.PermissionToolUse{of("edit", "")}, grantLow},
		"batch":                       {"proceed_always", high, []stream.PermissionToolUse{of("edit", ""), of("exec", "high")}, grantHigh},
		"label says more":             {"proceed_always", high, []stream.PermissionToolUse{of("exec", "low")}, grantUnknown},
		"label says nothing":          {"proceed_always", "Always", []stream.PermissionToolUse{of("exec", "low")}, grantUnknown},
		"details say nothing":         {"proceed_always", low, []stream.PermissionToolUse{of("exec", "")}, grantUnknown},
		"another kind of request":     {"proceed_always", low, []stream.PermissionToolUse{of("teleport", "low")}, grantUnknown},
		"tools of no MCP server":      {"proceed_always_tools", "Always", []stream.PermissionToolUse{of("exec", "low")}, grantUnknown},
		"MCP tool":                    {"proceed_always_tools", "Always", []stream.PermissionToolUse{of("mcp_tool", "high")}, grantTool},
		"MCP server":                  {"proceed_always_server", "Always", []stream.PermissionToolUse{of("mcp_tool", "high")}, grantServer},
		"MCP tool in a mixed batch":   {"proceed_always_tools", "Always", []stream.PermissionToolUse{of("mcp_tool", "high"), of("exec", "low")}, grantUnknown},
		"file":                        {"proceed_always_file", "Always", []stream.PermissionToolUse{of("sandbox_violation", "")}, grantTool},
		"directory":                   {"proceed_always", "Always", []stream.PermissionToolUse{of("sandbox_violation", "")}, grantServer},
		"sandbox in a mixed batch":    {"proceed_always", low, []stream.PermissionToolUse{of("sandbox_violation", ""), of("edit", "")}, grantUnknown},
		"plan":                        {"proceed_auto_run_medium", "Go (Medium)", []stream.PermissionToolUse{of(confirmSpec, "")}, grantMedium},
		"plan, label says more":       {"proceed_auto_run_low", "Go (High)", []stream.PermissionToolUse{of(confirmSpec, "")}, grantUnknown},
		"plan, of the future":         {"proceed_auto_run_max", "Go", []stream.PermissionToolUse{of(confirmSpec, "")}, grantUnknown},
		"auto run of another request": {"proceed_auto_run_low", "Go (Low)", []stream.PermissionToolUse{of("exec", "low")}, grantUnknown},
		"false positive":              {"proceed_report_false_positive", "Report", []stream.PermissionToolUse{of("droid_shield_violation", "")}, grantUnknown},
		"refusal":                     {"cancel", "No", []stream.PermissionToolUse{of("exec", "low")}, grantUnknown},
	} {
		require.Equal(t, tc.want, grantOf(stream.PermissionOption{Value: tc.value, Label: tc.label}, tc.tools), name)
	}
}

// An option describes its effect, including the mode at its end, in one line of a narrow editor. One whose effect is unknown keeps droid's
// label.
func TestOptionNames(t *testing.T) {
	of := func(confirmation string, details stream.PermissionDetails) []stream.PermissionToolUse {
		return []stream.PermissionToolUse{{Confirmation: confirmation, Details: details}}
	}
	plan, edit, sandbox := of(confirmSpec, stream.PermissionDetails{}), of("edit", stream.PermissionDetails{}), of("sandbox_violation", stream.PermissionDetails{})
	risk := func(level string) []stream.PermissionToolUse {
		return of("exec", stream.PermissionDetails{ImpactLevel: level})
	}
	mcp := of("mcp_tool", stream.PermissionDetails{ImpactLevel: "low"})
	for _, tc := range []struct {
		value, label, want, spec string
		tools                    []stream.PermissionToolUse
	}{
		{"proceed_once", "Proceed with implementation", "Yes, and ask each time: Auto (Off)", "", plan},
		{"proceed_auto_run_low", "Proceed, and allow file edits and read-only commands (Low)", "Yes, always edits and reads: Auto (Low)", "", plan},
		{"proceed_auto_run_medium", "Proceed, and allow reversible commands (Medium)", "Yes, always if reversible: Auto (Medium)", "", plan},
		{"proceed_auto_run_high", "Proceed, and allow all commands (High)", "Yes, always all commands: Auto (High)", "", plan},
		{"cancel", "No, keep iterating on spec", "No, keep planning", "", plan},
		{"proceed_once", "Yes, allow", "Yes, allow", "", edit},
		{"cancel", "No, cancel", "No, cancel", "", edit},
		{"proceed_always", "Yes, and always allow low impact commands (file edits)", "Yes, always allow edits: Auto (Low)", "Yes, always allow edits", edit},
		{"proceed_always", "Yes, and always allow low impact commands (file edits)", "Yes, always edits and reads: Auto (Low)", "Yes, always edits and reads", risk("low")},
		{"proceed_always", "Yes, and always allow medium impact commands", "Yes, always if reversible: Auto (Medium)", "Yes, always if reversible", risk("medium")},
		{"proceed_always", "Yes, and always allow high impact commands", "Yes, always all commands: Auto (High)", "Yes, always all commands", risk("high")},
		{"proceed_once", "Allow once", "Yes, allow once", "", sandbox},
		{"proceed_always", "Allow always (reads from /s)", "Yes, allow always (reads from /s)", "", sandbox},
		{"cancel", "Deny", "No, deny", "", sandbox},
		{"proceed_always_tools", "Always allow echo", "Yes, always allow echo", "", mcp},
		{"proceed_always", "Yes, and always allow high impact commands", "Yes, and always allow high impact commands", "", edit},
		{"proceed_auto_run_low", "Proceed (High)", "Proceed (High)", "", plan},
		{"proceed_always", "(Low)", "(Low)", "", edit},
		{"proceed_always", "", "proceed_always", "", edit},
	} {
		o := stream.PermissionOption{Value: tc.value, Label: tc.label}
		name := func(mode stream.Mode) string { return optionName(o, grantOf(o, tc.tools), tc.tools, mode) }
		require.Equal(t, tc.want, name(stream.ModeNormal))
		require.Equal(t, cmp.Or(tc.spec, tc.want), name(stream.ModeSpec), "a request other than a plan's leaves that mode")
		if tc.want != tc.label {
			require.LessOrEqual(t, len(tc.want), 40, tc.want)
		}
	}
}

// A request of an unknown kind, or for a mission, can be allowed once at most, by somebody who reads it.
func TestUnknownKindsFailClosed(t *testing.T) {
	for _, kind := range []string{"propose_mission", "start_mission_run", "recommend_mission", "exit_mission_planning", "teleport", ""} {
		ev := askedAbout(stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "m", Name: "Mission"}, Confirmation: kind, Details: stream.PermissionDetails{ImpactLevel: "medium"}})
		for name, client := range map[string]protocol.ClientProfile{"Zed": {ShowsOptionNames: true, ShowsRequestContent: true}, "unknown": {AssumedCompliant: true}, "nobody": {}} {
			p := newHarness(protocol.ClientCapabilities{ClientProfile: client}).Permission(ev, nil, PermissionContext{})
			require.False(t, p.Refused, "%s %s", kind, name)
			require.Equal(t, stream.OptionCancel, p.decision.Option, "unless the user says otherwise")
			var offered []string
			for _, o := range p.options {
				offered = append(offered, string(o.OptionID))
			}
			require.Equal(t, []string{stream.OptionOnce, stream.OptionCancel}, offered, "%s %s", kind, name)
		}
		p := newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{AnswersByPolicy: true, ShowsRequestContent: true}}).Permission(ev, nil, PermissionContext{})
		require.True(t, p.Refused, kind)
		require.Len(t, p.Before, 1, "and it is said why")
	}
	p := newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{AnswersByPolicy: true, ShowsRequestContent: true}}).Permission(askedAbout(commandAsked()), nil, PermissionContext{})
	require.False(t, p.Refused, "a rule may answer what is known")
}
