package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is the version of droid's protocol, the factoryProtocolVersion of every line. The zero Version is a droid that reports none (0.57
// and older) or has not written a line yet.
type Version struct{ Major, Minor, Patch int }

// ParseVersion parses "major.minor.patch"; missing parts are zero, and a suffix after "-" or "+" is ignored.
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

// atLeast reports whether v is o or newer. The zero Version is the oldest.
func (v Version) atLeast(o Version) bool {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch)) >= 0
}

// IsZero reports whether the version is unknown.
func (v Version) IsZero() bool { return v == Version{} }

// String returns "major.minor.patch", or "unknown" for the zero Version.
func (v Version) String() string {
	if v.IsZero() {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Generation returns the newest release with new features that this version includes, such as "0.215", "" for an older version.
func (v Version) Generation() string {
	name := ""
	for _, r := range []release{release099, release215, release225} {
		if v.atLeast(r.protocol) {
			name = r.name
		}
	}
	return name
}

// newest is the newest droid whose output was recorded in testdata/droids.
var newest = release{"0.225.2", Version{1, 220, 0}}

// Untried says that this version is newer than all recorded ones, "" for any other.
func (v Version) Untried() string {
	if !v.atLeast(newest.protocol) || v == newest.protocol {
		return ""
	}
	return fmt.Sprintf("is newer than droid %s (protocol %s), the newest that droid-acp was tried with", newest.name, newest.protocol)
}

// vocabularies are the versions whose settings keys were extracted from the program: 0.99.0, 0.215.0, 0.225.2. See package projectconfig.
var vocabularies = []Version{{1, 15, 0}, {1, 206, 0}, {1, 220, 0}}

// HasVocabulary reports whether all settings keys of this version are known.
func (v Version) HasVocabulary() bool { return slices.Contains(vocabularies, v) }

// Supports reports whether a droid of this version has the feature.
func (v Version) Supports(f Feature) bool { return v.atLeast(f.since.protocol) }

// UnsupportedText returns a text for the user: this version does not have the feature, and which release does.
func (v Version) UnsupportedText(f Feature) string {
	return fmt.Sprintf("This droid (protocol %s) cannot %s; droid %s and newer can. %s", v, f.can, f.since.name, Update)
}

// TooOldError means that droid is too old for a request. It names the remedy.
type TooOldError struct{ why string }

func (e *TooOldError) Error() string { return e.why }

// Needs returns a *TooOldError if this version does not have the feature.
func (v Version) Needs(f Feature) error {
	if v.Supports(f) {
		return nil
	}
	return &TooOldError{v.UnsupportedText(f)}
}

// Update is the remedy for a droid that is too old.
const Update = "Update droid: `droid update`, or `npm install -g droid`."

// missedFeatures are the features that users of an old droid lack, since this program does not replace them.
var missedFeatures = []Feature{RenamesSessions, ExpandsCommands, StoresSystemPrompt, TakesEditedPlan, TellsContextUse, SwitchesAutoCompaction}

// Missing lists what users of this version lack, "" if nothing.
func (v Version) Missing() string {
	var can []string
	newest := release{}
	for _, f := range missedFeatures {
		if !v.Supports(f) {
			can, newest = append(can, f.can), f.since
		}
	}
	if len(can) == 0 {
		return ""
	}
	return fmt.Sprintf("cannot %s; droid %s and newer can", strings.Join(can, ", "), newest.name)
}

// Feature is something that droid does since one of its releases. The table below has one row for each. A feature decides one thing, named
// by it; differences between versions that decide nothing here are described at the declaration of the event, field or call.
type Feature struct {
	since release
	can   string // completes "droid can …"
}

// String returns the text that completes "droid can …".
func (f Feature) String() string { return f.can }

// release is a release of droid, and the protocol version from which on it is assumed. Versions between 0.99 and 0.215 count as 0.99,
// though some features since 0.215 may be older.
type release struct {
	name     string
	protocol Version
}

// The recorded releases with new features. 0.57 reports no protocol version, 0.99 reports 1.15.0; whatever reports one counts as 0.99 at
// least.
var (
	release099 = release{"0.99", Version{0, 0, 1}}
	release215 = release{"0.215", Version{1, 206, 0}}
	release225 = release{"0.225", Version{1, 220, 0}}
)

// The table of features.
var (
	// Otherwise autonomyLevel has the name of the mode.
	TakesAutonomyMode  = Feature{release099, "take autonomyMode among its settings"}
	TakesAttachedFiles = Feature{release099, "take files that are attached to a prompt"}
	// Otherwise a message may be sent only as a snapshot.
	StreamsMessages = Feature{release099, "stream every message of the model and send none in its snapshot alone"}
	// Otherwise it accepts them and starts none.
	StartsServersOfSettings = Feature{release099, "start the MCP servers that stand in a settings file"}
	// Otherwise it is unknown which settings of one process override a project's.
	ExcludesProjectFiles = Feature{release099, "be started without what a project brings to run"}

	RenamesSessions      = Feature{release215, "rename a session"}
	CompactsWithoutLogin = Feature{release215, "compact a conversation without a login to Factory"}
	TellsContextUse      = Feature{release215, "tell what fills the context window"}
	// Otherwise the answer proceed_edit opens a program of the desktop.
	TakesEditedPlan = Feature{release215, "take a plan that was edited before it was approved"}
	// Otherwise it looks for MCP servers at its start, and never starts those that it finds then, although they are a session's: it has
	// read a part of its settings before they were added.
	LooksForServersLate = Feature{release215, "leave its settings alone until a session is opened"}
	OffersToolsEarly    = Feature{release215, "offer the tools of an MCP server while others still connect"}
	// Otherwise some errors have a null ID.
	NamesRequestOfErrors = Feature{release215, "name the request in every error"}
	// Otherwise idle is the only sign.
	TellsTurnEnd = Feature{release215, "tell the end of a turn by agent_turn_completed"}
	// Otherwise, of the files with hooks for an event only the first counts, and the settings file of one process precedes those of the
	// user.
	AddsHooks = Feature{release215, "run the hooks of one process beside those of the user"}
	// Otherwise Bun runs what the bunfig.toml of its directory names under "preload".
	PreloadsNothing = Feature{release215, "be started in a directory with a bunfig.toml without running what that names"}
	// Otherwise it repeats them in its answer and starts none.
	StartsServersOfSession = Feature{release215, "start the MCP servers that a session is opened with"}
	// Otherwise the reported address is not served, unless the login was requested.
	KeepsLoginsOpen = Feature{release215, "wait for a login to an MCP server that it needs by itself"}
	// Otherwise an addition to the system prompt must be passed to each process.
	StoresSystemPrompt  = Feature{release215, "store an addition to the system prompt with a session"}
	ExpandsCommands     = Feature{release215, "list custom commands and skills and expand them in a prompt"}
	GoesOverAfterRewind = Feature{release215, "go on with a rewound session in the process that rewound it"}
	// Otherwise it continues in the copy.
	StaysAfterFork         = Feature{release215, "stay in the session that it has copied"}
	SwitchesAutoCompaction = Feature{release215, "switch automatic compaction"}
	// Otherwise it has read them when it answers initialize_session.
	ReadsSettingsLate = Feature{release215, "read its settings once more after it has opened a session"}
	// Otherwise a subagent is a process that droid starts, with its own settings.
	RunsSubagentsApart = Feature{release215, "run its subagents in a daemon"}
	// Otherwise the end of its input is the only way.
	ClosesSessions = Feature{release215, "close a session and say when its file is whole"}
	// Otherwise it accepts the schema and ignores it.
	TakesSchema        = Feature{release215, "have the model answer in the form of a JSON schema"}
	WithdrawsMessages  = Feature{release215, "forget a message that it has not begun with"}
	SwitchesSkills     = Feature{release215, "switch skills on and off"}
	CountsLinesFromOne = Feature{release215, "count the lines of a file from 1 in the offset of its Read tool"}

	ChecksRules = Feature{release225, "say what its lists of commands make of one"}
)
