package keep

import (
	"fmt"
	"strings"

	"droid-acp/internal/remote/serve"
)

// short is the beginning of an id that no other session's has.
func short(s serve.Status, id string) string {
	n := shortID
	for _, other := range s.Sessions {
		for other.ID != id && n < len(id) && strings.HasPrefix(other.ID, id[:n]) {
			n++
		}
	}
	return id[:min(n, len(id))]
}

// Find is the session whose id begins so. The error names what there is.
func Find(s serve.Status, id string) (found serve.SessionInfo, err error) {
	var all []serve.SessionInfo
	for _, session := range s.Sessions {
		switch {
		case session.ID == id:
			return session, nil
		case id != "" && strings.HasPrefix(session.ID, id):
			all = append(all, session)
		}
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return found, fmt.Errorf("the ids of %d sessions begin with %s; give more of it", len(all), id)
	case len(s.Sessions) == 0:
		return found, fmt.Errorf("no session %s is open here; the server has none (`droid-acp ps`)", id)
	}
	names := make([]string, len(s.Sessions))
	for i, session := range s.Sessions {
		names[i] = short(s, session.ID)
	}
	return found, fmt.Errorf("no session %s is open here; `droid-acp ps` shows %s", id, strings.Join(names, ", "))
}
