package render

import (
	"cmp"
	"fmt"
	"strings"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// maxHookOutput bounds the shown output of a failed hook, in bytes.
const maxHookOutput = 500

// hookCompleted shows the failed commands of a hook.
func (v *View) hookCompleted(ev stream.HookCompleted) {
	started := v.hooks[ev.HookID]
	delete(v.hooks, ev.HookID)
	event := cmp.Or(ev.EventName, started.EventName)
	for i, r := range ev.Results {
		if r.ExitCode == 0 {
			continue
		}
		command := r.Command
		if command == "" && i < len(started.Commands) {
			command = started.Commands[i].Command
		}
		said := cmp.Or(strings.TrimSpace(r.Stderr), strings.TrimSpace(r.Stdout))
		name := ""
		if command != "" {
			name = markdown.Code(visible.Line(FirstLine(command))) + " "
		}
		text := fmt.Sprintf("The %s hook %sfailed with exit code %d.", event, name, r.ExitCode)
		if said != "" {
			text += "\n" + shorten(said, maxHookOutput)
		}
		v.out = append(v.out, Notice(text))
	}
}
