package serve

import (
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
)

// kind is what decides whether a client shares an agent: how that is started, and what the client declares.
type kind struct {
	hello   Hello
	program fileID // of hello.Program, when a session was opened last
	caps    protocol.ClientCapabilities
	can     string // all of caps that an agent acts on
}

// notActedOn are variables in which two environments that are one may differ: no program acts on them. Sessions name their directory
// themselves.
var notActedOn = []string{"_", "OLDPWD", "PWD", "SHLVL", "WINDOWID"}

// isLike reports whether an agent of this kind opens sessions as one of the other would.
func (k kind) isLike(other kind) bool {
	return k.hello.Program == other.hello.Program && k.program == other.program && slices.Equal(k.hello.Args, other.hello.Args) &&
		k.can == other.can && len(differing(k.hello.Env, other.hello.Env)) == 0
}

// differing are the names of variables that two environments do not have alike, sorted. A nil one is the server's.
func differing(one, other []string) (names []string) {
	has := map[string]string{}
	for _, v := range one {
		name, value, _ := strings.Cut(v, "=")
		has[name] = value
	}
	for _, v := range other {
		name, value, _ := strings.Cut(v, "=")
		if was, known := has[name]; !known || was != value {
			names = append(names, name)
		}
		delete(has, name)
	}
	for name := range has {
		names = append(names, name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(notActedOn, name) })
	slices.Sort(names)
	return slices.Compact(names)
}

// canonical is JSON that does not depend on the order of fields.
func canonical(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	text, _ := json.Marshal(v) // what was decoded encodes
	return string(text)
}
