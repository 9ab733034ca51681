package settings

// Variable is a variable of the environment that is no setting of droid-acp but matters to
// it.
type Variable struct {
	Name string
	Does string // whole sentences
}

// Variables are those of the system and of droid that droid-acp reads, sets or names.
func Variables() []Variable {
	return []Variable{
		{"HOME", "The home directory (on Windows USERPROFILE), where droid has its login, settings and sessions. Where it is not set, droid-acp takes the one in the system's list of users."},
		{"PATH", "Where droid is looked for, unless it is named."},
		{"FACTORY_API_KEY", "droid's own: the key by which it logs in. droid-acp does not read it, but droid is started with it."},
		{"FACTORY_HOME_OVERRIDE", "droid's own: the directory that has .factory in place of the home directory. droid-acp looks for sessions and hooks there; it must be an absolute path."},
		{"FACTORY_DROID_AUTO_UPDATE_ENABLED", "droid's own: droid-acp sets it to false for the droids that it starts, so that none replaces its program while a session runs. Where it is set, it is left alone."},
		{"FACTORY_RUNTIME_SETTINGS_PATH", "droid's own: droid-acp sets it for each droid to a private file, by which the editor's MCP servers and the hooks for files reach droid. Where it is set already, it is left alone: droid then gets the MCP servers with the session alone, and reads and edits files on the disk."},
		{"XDG_STATE_HOME", "The directory below which edits are noted while they are on their way to the editor; ~/.local/state where it is not set."},
		{"XDG_CONFIG_HOME", "Where doctor looks for the configurations of editors; ~/.config where it is not set."},
		{"APPDATA", "Where doctor looks for them on Windows."},
		{"TMPDIR", "Where the socket of the hooks and private copies of files lie while they are needed."},
		{"NO_COLOR", "Where it is set, smoke writes no colours; it writes some on terminals alone."},
		{"TERM", "Where it is dumb, smoke writes no colours."},
		{"GOMEMLIMIT", "Above how much memory droid-acp collects garbage as soon as it can; 64MiB where it is not set."},
	}
}
