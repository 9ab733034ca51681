package doctor

import (
	"context"
	"path/filepath"
)

// lookAtKeep looks at what --keep needs: a place for the server's socket, and a server that answers and is of this
// version, where one runs. Who does without --keep needs none of it.
func lookAtKeep(p *inspection, ctx context.Context) Check {
	if p.Keep == nil {
		return Check{Result: Skipped, Found: "Not looked at."}
	}
	kept := p.Keep(ctx)
	check := Check{Result: OK, Found: kept.Found, ToDo: kept.ToDo, Facts: map[string]any{"socket": kept.Socket}}
	if faults := []fault(nil); kept.ToDo == "" && kept.Socket != "" {
		if faults = writable(faults, filepath.Dir(kept.Socket)); len(faults) > 0 {
			check = faulty(faults, check.Facts)
		}
	}
	if check.ToDo != "" {
		check.Result = Warning
	}
	return check
}
