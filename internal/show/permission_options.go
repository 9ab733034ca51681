package show

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/visible"
)

// power is how much an option gives away, the more the higher.
type power int

const (
	unknownPower power = iota
	powerOnce          // this call
	powerTool          // this tool, or this file, from now on
	powerServer        // all tools of a server, or a directory
	powerLow           // all that droid calls low risk, and so on
	powerMedium
	powerHigh
)

// riskPowers are the powers of droid's levels of risk and autonomy.
var riskPowers = map[string]power{"low": powerLow, "medium": powerMedium, "high": powerHigh}

// optionPower is what an option gives away in a request for these tools (0.99 to
// 0.225). The same option means different things in requests of different kinds. It is
// unknown for the other kinds, and where droid's label names another level than the
// request.
func optionPower(o stream.PermissionOption, tools []stream.PermissionToolUse) power {
	if o.Value == stream.OptionOnce {
		return powerOnce
	}
	level, _ := labelLevel(o.Label)
	switch {
	case all(tools, confirmSpec):
		if of := strings.TrimPrefix(o.Value, "proceed_auto_run_"); level == "" || level == of {
			return riskPowers[of]
		}
	case all(tools, "sandbox_violation"):
		return map[string]power{"proceed_always_file": powerTool, "proceed_always": powerServer}[o.Value]
	case all(tools, "mcp_tool") && o.Value == "proceed_always_tools":
		return powerTool
	case all(tools, "mcp_tool") && o.Value == "proceed_always_server":
		return powerServer
	case o.Value == "proceed_always" && level == highestRisk(tools) && wantsReader(tools) == "":
		return riskPowers[level]
	}
	return unknownPower
}

// offeredOption is an option of droid's as the editor gets it.
type offeredOption struct {
	protocol.PermissionOption
	power power
}

// permissionOptions are droid's options as this client gets them.
//
// They stand in the order of what they give away, the least first, since a client may
// have a key for the first of a kind. A client that is not known to show the names gets
// the least option of each kind only, and none whose power is unknown or high: some of
// these clients answer later requests by the kind of an earlier answer, so that one key
// would in the end allow everything. Options that may not be read have droid's own words, as one
// such client sorts by them.
//
// Three kinds of options are left out for all: in a request of a kind that is not known, or about a mission,
// all but once and no; those that move the conversation to another
// session, since the editor would keep a session that droid has left (quirk 22), and
// proceed_edit, which needs a text with it (see editablePlan).
func permissionOptions(offered []stream.PermissionOption, tools []stream.PermissionToolUse, client protocol.ClientTraits, mode stream.Mode) []protocol.PermissionOption {
	var options []offeredOption
	for _, o := range offered {
		if strings.HasPrefix(o.Value, "proceed_new_session") || o.Value == stream.OptionEdit || o.Value == "" {
			continue
		}
		p := optionPower(o, tools)
		if p == unknownPower && o.Value != stream.OptionCancel && wantsReader(tools) != "" {
			continue // what it would give away, and for how long, nobody could say
		}
		name := optionName(o, p, modeAfter(o, p, tools, mode))
		if !client.ShowsNames() && o.Label != "" {
			name = o.Label
		}
		options = append(options, offeredOption{protocol.PermissionOption{OptionID: o.Value, Name: protocol.Line(visible.Exact(name)), Kind: optionKind(o.Value)}, p})
	}
	slices.SortStableFunc(options, func(a, b offeredOption) int { return cmp.Compare(a.place(), b.place()) })
	var out []protocol.PermissionOption
	for _, o := range options {
		taken := slices.ContainsFunc(out, func(other protocol.PermissionOption) bool { return other.Kind == o.Kind })
		if client.OptionNames || !taken && (o.OptionID == stream.OptionCancel || o.power != unknownPower && o.power < powerHigh) {
			out = append(out, o.PermissionOption)
		}
	}
	return out
}

// place orders options: those that allow, from the least to what nobody knows,
// then the refusal.
func (o offeredOption) place() int {
	switch {
	case o.OptionID == stream.OptionCancel:
		return int(powerHigh) + 2
	case o.power == unknownPower:
		return int(powerHigh) + 1
	}
	return int(o.power)
}

// optionKind is the ACP kind of an option of droid's. A client may act on the
// kind by itself: one that rejects must not hit what may allow, and one that
// allows once must not hit what may allow more. So what is not known allows
// always.
func optionKind(value string) acp.PermissionOptionKind {
	switch value {
	case stream.OptionOnce, "proceed_report_false_positive":
		return acp.PermissionOptionKindAllowOnce
	case stream.OptionCancel:
		return acp.PermissionOptionKindRejectOnce
	}
	return acp.PermissionOptionKindAllowAlways
}

var (
	levelAtEnd  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+?)\s*\((Low|Medium|High)\)$`) })
	levelWithin = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(low|medium|high) impact\b`) })
)

// labelLevel is the level that a label of droid's names, "" for none, and the
// label without it where it stands in brackets at the end (0.99 to 0.225).
func labelLevel(label string) (level, rest string) {
	if m := levelAtEnd().FindStringSubmatch(label); m != nil {
		return strings.ToLower(m[2]), m[1]
	}
	if m := levelWithin().FindStringSubmatch(label); m != nil {
		return m[1], label
	}
	return "", label
}

// modeAfter is the mode that an option sets, "" where it sets none or that is not known.
func modeAfter(o stream.PermissionOption, p power, tools []stream.PermissionToolUse, mode stream.Mode) stream.Mode {
	level, _ := labelLevel(o.Label)
	switch isPlan := all(tools, confirmSpec); {
	case isPlan && o.Value == stream.OptionOnce:
		return stream.ModeNormal
	case level != "" && riskPowers[level] == p && (isPlan || mode != stream.ModeSpec):
		return stream.Mode("auto-" + level)
	}
	return ""
}

// optionName is droid's label with the mode that it sets in front, else the level, where clients with
// little room do not cut it off. It stays as it is where what the option gives away is not
// known.
func optionName(o stream.PermissionOption, p power, sets stream.Mode) string {
	level, rest := labelLevel(o.Label)
	switch {
	case o.Label == "":
		return o.Value
	case sets != "":
		return sets.Title() + ": " + lowerFirst(rest)
	case level == "" || riskPowers[level] != p:
		return o.Label
	}
	return strings.ToUpper(level[:1]) + level[1:] + ": " + lowerFirst(rest)
}

func lowerFirst(label string) string { return strings.ToLower(label[:1]) + label[1:] }

// namesItsMode reports whether an option's name begins with the mode that it sets.
func namesItsMode(o protocol.PermissionOption) bool {
	return slices.ContainsFunc(stream.Modes(), func(m stream.ModeInfo) bool { return strings.HasPrefix(string(o.Name), m.Name+": ") })
}

func offers(options []stream.PermissionOption, value string) bool {
	return slices.ContainsFunc(options, func(o stream.PermissionOption) bool { return o.Value == value })
}
