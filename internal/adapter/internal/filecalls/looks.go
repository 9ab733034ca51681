package filecalls

import (
	"slices"

	"droid-acp/internal/quirks"
)

// maxLooked bounds for how many files of a turn it is looked whether the editor has unsaved text of them.
const maxLooked = 50

// Looks returns the files that a call which begins reads or changes on the disk, each once a turn; none where files go
// through the editor.
func (c *Calls) Looks(ev quirks.Event, cwd string) (files []string) {
	if c.overlay != nil {
		return nil
	}
	var told quirks.ToolInput
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		told = quirks.ToolInput(ev)
	case quirks.ToolInput:
		told = ev
	case quirks.TurnStarted, quirks.TurnEnded:
		c.looked = nil
	}
	for _, path := range toolFiles(told.Name, told.Input, cwd) {
		if !slices.Contains(c.looked, path) && len(c.looked) < maxLooked {
			c.looked = append(c.looked, path)
			files = append(files, path)
		}
	}
	return files
}
