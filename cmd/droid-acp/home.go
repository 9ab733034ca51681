package main

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/workspace/trust"
)

// ensureHome sets $HOME, where it is not set, to what the system's list of users
// says: launchers of services and checkers of registries leave it out, and droid,
// its sessions and its commands are found by it. A user who is not in the list has
// no home; whatever needs one says so.
func ensureHome() {
	if _, err := os.UserHomeDir(); err == nil {
		return
	}
	me, err := user.Current()
	if err != nil || me.HomeDir == "" {
		return
	}
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	_ = os.Setenv(name, me.HomeDir) // fails for names that are none
}

// stateFile is a file or a directory of this program in the user's directory for state
// (XDG Base Directory Specification), "" where there is none. "edits" has edits that are on
// their way to the editor, and is there only while it holds some; "trust.json" has the
// projects that the user trusts.
func stateFile(name string) string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "droid-acp", name)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "droid-acp", name)
}

// trustStore knows the projects that the user trusts.
func trustStore(mode string) *trust.Store {
	return trust.New(trust.Options{Mode: trust.Mode(mode), File: stateFile("trust.json"), Home: droid.Home(os.Environ())})
}

// sessionStore is droid's store in an environment, or one that says why it cannot be found.
func sessionStore(getenv func(string) string, log *zap.Logger) *store.Store {
	root, err := store.Root(getenv)
	if err != nil {
		log.Warn("there are no sessions to list or to delete", zap.Error(err))
		return store.Unknown(err)
	}
	return store.New(root, log)
}
