package render

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/visible"
)

// grant is how much an option grants; larger values grant more.
type grant int

const (
	grantUnknown grant = iota
	grantOnce          // this call
	grantTool          // this tool, or this file, from now on
	grantServer        // all tools of a server, or a directory
	grantLow           // all that droid calls low risk, and so on
	grantMedium
	grantHigh
)

// riskGrants maps droid's levels of risk and autonomy to grants.
var riskGrants = map[string]grant{"low": grantLow, "medium": grantMedium, "high": grantHigh}

// grantOf returns what an option grants in a request for these tools (0.99 to 0.225); the same option has different meanings in
// different kinds of requests. It is unknown for other kinds, and if droid's label names a different level than the request.
func grantOf(o stream.PermissionOption, tools []stream.PermissionToolUse) grant {
	if o.Value == stream.OptionOnce {
		return grantOnce
	}
	level := labelLevel(o.Label)
	switch {
	case all(tools, confirmSpec):
		if of := strings.TrimPrefix(o.Value, "proceed_auto_run_"); level == "" || level == of {
			return riskGrants[of]
		}
	case all(tools, "sandbox_violation"):
		return map[string]grant{"proceed_always_file": grantTool, "proceed_always": grantServer}[o.Value]
	case all(tools, "mcp_tool") && o.Value == "proceed_always_tools":
		return grantTool
	case all(tools, "mcp_tool") && o.Value == "proceed_always_server":
		return grantServer
	case o.Value == "proceed_always" && level == highestRisk(tools) && needsReader(tools) == "":
		return riskGrants[level]
	}
	return grantUnknown
}

// offeredOption is an option of droid as sent to the client.
type offeredOption struct {
	protocol.PermissionOption
	grant grant
}

// permissionOptions returns droid's options for this client.
//
// They are ordered by what they grant, the least first, since a client may have a key for the first of a kind. A client that may not show
// names gets only the least option of each kind, and none whose grant is unknown or high: some of these clients answer later requests by
// the kind of an earlier answer, so that one key would eventually allow everything. Such options keep droid's labels, as one such client
// sorts by them.
//
// Three kinds of options are omitted for all clients: for unknown confirmation types and missions, all but once and no; those that move the
// conversation to another session, since the editor would keep a session that droid has left (quirk 22); and proceed_edit, which needs a
// text (see editablePlan).
func permissionOptions(offered []stream.PermissionOption, tools []stream.PermissionToolUse, client protocol.ClientProfile, mode stream.Mode) []protocol.PermissionOption {
	var options []offeredOption
	for _, o := range offered {
		if strings.HasPrefix(o.Value, "proceed_new_session") || o.Value == stream.OptionEdit || o.Value == "" {
			continue
		}
		p := grantOf(o, tools)
		if p == grantUnknown && o.Value != stream.OptionCancel && needsReader(tools) != "" {
			continue // what it would grant, and for how long, is unknown
		}
		name := optionName(o, p, tools, mode)
		if !client.MayShowOptionNames() && o.Label != "" {
			name = o.Label
		}
		options = append(options, offeredOption{protocol.PermissionOption{OptionID: o.Value, Name: protocol.Line(visible.Exact(name)), Kind: optionKind(o.Value)}, p})
	}
	slices.SortStableFunc(options, func(a, b offeredOption) int { return cmp.Compare(a.rank(), b.rank()) })
	var out []protocol.PermissionOption
	for _, o := range options {
		taken := slices.ContainsFunc(out, func(other protocol.PermissionOption) bool { return other.Kind == o.Kind })
		if client.ShowsOptionNames || !taken && (o.OptionID == stream.OptionCancel || o.grant != grantUnknown && o.grant < grantHigh) {
			out = append(out, o.PermissionOption)
		}
	}
	return out
}

// rank orders options: those that allow, by increasing grant with unknown last, then the refusal.
func (o offeredOption) rank() int {
	switch {
	case o.OptionID == stream.OptionCancel:
		return int(grantHigh) + 2
	case o.grant == grantUnknown:
		return int(grantHigh) + 1
	}
	return int(o.grant)
}

// optionKind returns the ACP kind of droid's option. Clients may act on the kind by themselves: one that rejects must not select what may
// allow, and one that allows once must not select what may allow more. So unknown options are "allow always".
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
	levelAtEnd  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`.\((Low|Medium|High)\)$`) })
	levelWithin = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(low|medium|high) impact\b`) })
)

// labelLevel returns the level in a label of droid, or "" (0.99 to 0.225).
func labelLevel(label string) string {
	if m := levelAtEnd().FindStringSubmatch(label); m != nil {
		return strings.ToLower(m[1])
	}
	if m := levelWithin().FindStringSubmatch(label); m != nil {
		return m[1]
	}
	return ""
}

// modeAfter returns the mode that an option sets, "" if none or unknown.
func modeAfter(o stream.PermissionOption, p grant, tools []stream.PermissionToolUse, mode stream.Mode) stream.Mode {
	isPlan := all(tools, confirmSpec)
	if isPlan && o.Value == stream.OptionOnce {
		return stream.ModeNormal
	}
	if isPlan || mode != stream.ModeSpec {
		return map[grant]stream.Mode{grantLow: stream.ModeAutoLow, grantMedium: stream.ModeAutoMedium, grantHigh: stream.ModeAutoHigh}[p]
	}
	return ""
}

// levelNames are the names of options that raise the autonomy level.
var levelNames = map[grant]string{
	grantLow:    "Yes, always edits and reads",
	grantMedium: "Yes, always if reversible",
	grantHigh:   "Yes, always all commands",
}

const (
	alwaysEdits  = "Yes, always allow edits" // low, if the request is only for edits
	proceedNamed = "Yes, and ask each time"
)

// optionName returns the name of an option: it begins with Yes or No and ends with the mode that the option sets. Editors have one line of
// about 40 characters for it. If the grant is unknown, it is droid's label.
func optionName(o stream.PermissionOption, p grant, tools []stream.PermissionToolUse, mode stream.Mode) string {
	sets := ""
	if m := modeAfter(o, p, tools, mode); m != "" {
		sets = ": " + m.Title()
	}
	switch isPlan := all(tools, confirmSpec); {
	case o.Label == "":
		return o.Value
	case isPlan && o.Value == stream.OptionOnce:
		return proceedNamed + sets
	case isPlan && o.Value == stream.OptionCancel:
		return "No, keep planning"
	case o.Value == stream.OptionCancel:
		return startingWith("No", o.Label)
	case p == grantLow && !slices.ContainsFunc(tools, func(t stream.PermissionToolUse) bool { return !changesFiles(t) }):
		return alwaysEdits + sets
	case levelNames[p] != "":
		return levelNames[p] + sets
	case p != grantUnknown:
		return startingWith("Yes", o.Label)
	}
	return o.Label
}

// startingWith returns label prefixed by word, unless it starts with it.
func startingWith(word, label string) string {
	if strings.HasPrefix(label, word) {
		return label
	}
	return word + ", " + strings.ToLower(label[:1]) + label[1:]
}

// namesLevel reports whether an option's name states what it allows from now on.
func namesLevel(o protocol.PermissionOption) bool {
	name, _, _ := strings.Cut(string(o.Name), ": ")
	return name == alwaysEdits || name == proceedNamed || slices.Contains(slices.Collect(maps.Values(levelNames)), name)
}

func offers(options []stream.PermissionOption, value string) bool {
	return slices.ContainsFunc(options, func(o stream.PermissionOption) bool { return o.Value == value })
}
