package via

import (
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// mostDirectories is how many directories of sessions are kept; those that were asked for last count.
const mostDirectories = 100

// openingMethods are the methods by which the editor asks for a session, and with it for its directories.
var openingMethods = []string{"session/new", "session/load", "session/resume", "session/fork"}

// reachableMaps are the directories of this machine in which the far side gets files, as maps: those of --map, or
// without any those of the sessions that the editor has asked for, which the far side has by the same names.
func (r *Relay) reachableMaps() Maps {
	if asked := r.sessionDirs.Load(); len(r.Maps) == 0 && asked != nil {
		return *asked
	}
	return r.Maps
}

// noteDirectories notes the directories of a session that the editor asks for. A path that is not absolute, or has
// "..", names none. Only who hears the editor calls it.
func (r *Relay) noteDirectories(m jsonrpc.Head, line []byte) {
	if len(r.Maps) > 0 || m.Params == 0 || !slices.Contains(openingMethods, m.Method) {
		return
	}
	asked := slices.Clone(r.reachableMaps()) // the far side may be looking at the old ones
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
