package via

import (
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// mostDirectories is how many directories of sessions are remembered; the oldest are dropped.
const mostDirectories = 100

// openingMethods are the methods by which the editor opens a session, and thereby gives access to its directories.
var openingMethods = []string{"session/new", "session/load", "session/resume", "session/fork"}

// reachableMaps returns the directories of this machine whose files the far side may access, as maps: those of --map, or without any those of
// the sessions that the editor has opened, which have the same paths at the far side.
func (r *Relay) reachableMaps() Maps {
	if asked := r.sessionDirs.Load(); len(r.Maps) == 0 && asked != nil {
		return *asked
	}
	return r.Maps
}

// noteDirectories records the directories of a session that the editor opens. A path that is relative or has ".." is ignored. Only the
// reader of the editor's messages calls it.
func (r *Relay) noteDirectories(m jsonrpc.Head, line []byte) {
	if len(r.Maps) > 0 || m.Params == 0 || !slices.Contains(openingMethods, m.Method) {
		return
	}
	asked := slices.Clone(r.reachableMaps()) // the other direction may be using the old ones
	r.sessionDirFields.Rewrite(line, m.Params, func(_, _ string, value []byte) []byte {
		d, ok := readPath(rawjson.Unquote(value))
		if !ok || d.isServer() {
			return nil
		}
		asked = slices.DeleteFunc(asked, func(m mapping) bool { return m[near].contains(&d) && d.contains(&m[near]) })
		asked = append(asked, mapping{d, d})
		return nil
	})
	asked = asked[max(0, len(asked)-mostDirectories):]
	r.sessionDirs.Store(&asked)
}
