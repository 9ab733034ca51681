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

// ensureHome sets $HOME, if it is not set, from the system's user database: service managers and registry checkers omit it, and droid, its
// sessions and its commands are found by it. A user who is not in the database has no home; whatever needs one reports that.
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
	_ = os.Setenv(name, me.HomeDir) // it fails for invalid names
}

// stateFile returns a file or directory of this program in the user's state directory (XDG Base Directory Specification), "" if there is
// none. "edits" holds edits that are being delivered to the editor, and exists only while there are any; "trust.json" lists the projects
// that the user trusts.
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

// trustStore returns the store of the projects that the user trusts.
func trustStore(mode string) *trust.Store {
	return trust.New(trust.Options{Mode: trust.Mode(mode), File: stateFile("trust.json"), Home: droid.Home(os.Environ())})
}

// sessionStore returns droid's store in an environment, or one whose methods return why it cannot be found.
func sessionStore(getenv func(string) string, log *zap.Logger) *store.Store {
	root, err := store.Root(getenv)
	if err != nil {
		log.Warn("cannot find droid's sessions", zap.Error(err))
		return store.Unknown(err)
	}
	return store.New(root, log)
}
