package adapter

import (
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// lookTime bounds how long droid may take for its list of commands before a prompt, or
// behind one: before 0.215 the next prompt waits for that answer.
const lookTime = 2 * time.Second

// whenExpanded calls then when a prompt that begins with "/name" has the text which is
// to go to droid. The command may have come, changed or gone just now, so it is looked for.
func (s *Session) whenExpanded(p *userPrompt, then func()) {
	name, _, ok := splitCommand(p.typed)
	if !ok {
		then()
		return
	}
	s.lookForCommands(lookTime, func() {
		if s.prompts.runs(p) && s.commands.isGone(name) { // else it was cancelled meanwhile
			s.failPrompt(p, commandGone(name))
			return
		}
		then()
	})
}

// commandGone answers a prompt with a command that was removed while droid ran.
func commandGone(name string) *acp.RequestError {
	return invalidParams("the command /%s was removed, and droid would fail at it. Send the prompt without the slash, or add the command again", name)
}
