package adapter

// controls are what the user can steer in a session beside droid's own settings.
// Only the session's owner touches them.
type controls struct {
	retries    retries
	compaction string // id of the one that runs
	commands   commandList
	shellNotes []string // what droid is told of the user's shell commands with the next prompt
}
