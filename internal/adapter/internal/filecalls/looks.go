package filecalls

import "droid-acp/internal/quirks"

// maxLooked bounds for how many files of a turn it is looked whether the editor has unsaved text of them.
const maxLooked = 50

// looked are the files of a turn that a call reads or changes on the disk.
type looked map[string]struct{}

// Looks are the files that a call which begins reads or changes on the disk, each once a turn; none where files go
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
		if _, before := c.looked[path]; before || len(c.looked) == maxLooked {
			continue
		}
		if c.looked == nil {
			c.looked = make(looked)
		}
		c.looked[path] = struct{}{}
		files = append(files, path)
	}
	return files
}
