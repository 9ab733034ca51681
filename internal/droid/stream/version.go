package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is the version of droid's protocol, the factoryProtocolVersion of
// every line it writes. The zero Version is a droid that says none (0.57 and
// older) or has not said anything yet.
type Version struct{ Major, Minor, Patch int }

// Protocol versions of the droid releases whose behaviour was recorded.
var (
	protocol0_117 = Version{1, 32, 0}
	protocol0_215 = Version{1, 206, 0}
	protocol0_225 = Version{1, 220, 0}
)

// ParseVersion reads "major.minor.patch"; missing parts are zero and a suffix
// after "-" or "+" is ignored.
func ParseVersion(s string) (Version, error) {
	core, _, _ := strings.Cut(s, "+")
	core, _, _ = strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	if len(parts) > 3 {
		return Version{}, fmt.Errorf("protocol version %q has more than three parts", s)
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 31)
		if err != nil {
			return Version{}, fmt.Errorf("protocol version %q: part %q is no number", s, p)
		}
		n[i] = int(v)
	}
	return Version{n[0], n[1], n[2]}, nil
}

// AtLeast reports whether v is o or newer. The zero Version is older than all.
func (v Version) AtLeast(o Version) bool {
	if v.Major != o.Major {
		return v.Major > o.Major
	}
	if v.Minor != o.Minor {
		return v.Minor > o.Minor
	}
	return v.Patch >= o.Patch
}

// IsZero reports whether droid told no version.
func (v Version) IsZero() bool { return v == Version{} }

// String returns "major.minor.patch", or "unknown" for the zero Version.
func (v Version) String() string {
	if v.IsZero() {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Features is what depends on the version of droid. Each field names the
// release in which it was first observed; releases between 0.117 and 0.215 were
// not, so a feature "since 0.215" may be older.
type Features struct {
	AutonomyMode       bool // settings have autonomyMode; else autonomyLevel takes "spec", "auto-low", … (0.99)
	SettingsEcho       bool // every update is followed by settings_updated with its requestId; else a no-op has none (0.117)
	RequestIDOnErrors  bool // errors keep the request's id; else some have id null (0.215)
	TurnCompleted      bool // agent_turn_completed precedes idle (0.215)
	TextCompleted      bool // …_text_complete, tool_execution_phase_changed, the state "thinking", params.sessionId (0.215)
	LLMRetry           bool // llm_retry (0.215)
	MessageID          bool // add_user_message honours messageId (0.215)
	MCPServers         bool // mcpServers of Initialize and Load are started; else echoed and ignored (0.215)
	MCPSettings        bool // those of SetMCPServers are started (0.99)
	MCPAuthWaits       bool // an mcp_auth_required that nobody asked for has a login behind it; else its address leads nowhere (0.215)
	MCPEachAtOnce      bool // the tools of an MCP server are offered while others still connect (0.117)
	MessageLimit       bool // load_session returns the last 100 messages unless messageLimit says more; else all (0.215)
	EarlyInterrupt     bool // an interrupt right behind a prompt works; else it is lost (0.215)
	CustomCommands     bool // "/name args" of a custom command is expanded (0.215)
	MessageRetracted   bool // assistant_message_retracted (0.225)
	EditedPlan         bool // a plan can be approved with an edited text; else proceed_edit opens a program of the desktop (0.117)
	ContextStats       bool // get_context_stats and rename_session (0.117)
	Discovery          bool // list_commands, get_context_breakdown; skills are expanded in prompts (0.215)
	ValidatesDirectory bool // initialize_session refuses a working directory that does not exist (0.215)
	LinesFromOne       bool // the offset of the Read tool counts from 1; else from 0 (0.215)
}

// Features returns what this version does. It is the one place that compares
// versions.
func (v Version) Features() Features {
	since215 := v.AtLeast(protocol0_215)
	return Features{
		AutonomyMode:       !v.IsZero(),
		SettingsEcho:       v.AtLeast(protocol0_117),
		RequestIDOnErrors:  since215,
		TurnCompleted:      since215,
		TextCompleted:      since215,
		LLMRetry:           since215,
		MessageID:          since215,
		MCPServers:         since215,
		MCPSettings:        !v.IsZero(),
		MCPAuthWaits:       since215,
		MCPEachAtOnce:      v.AtLeast(protocol0_117),
		MessageLimit:       since215,
		EarlyInterrupt:     since215,
		CustomCommands:     since215,
		ValidatesDirectory: since215,
		LinesFromOne:       since215,
		EditedPlan:         v.AtLeast(protocol0_117),
		ContextStats:       v.AtLeast(protocol0_117),
		Discovery:          since215,
		MessageRetracted:   v.AtLeast(protocol0_225),
	}
}
