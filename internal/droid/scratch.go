package droid

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/sys/files"
)

// installationFiles have the ids of droid's installation and of the machine. A droid without them creates and reports new ones (0.215,
// 0.225).
var installationFiles = []string{"telemetry/droid-installation-id", "host.json"}

// linkSettings makes a directory for all that a process stores (see Command.Scratch), and links the settings of the user whose directory is
// home into it. There is no login in it: droid renews a login and writes it back, and the user's would no longer hold.
func linkSettings(home string) (dir *files.TempDir, err error) {
	if dir, _, err = files.MakeTempDir("scratch", uuid.NewString()); err != nil {
		return nil, err
	}
	paths := config.OrganizationFiles(home)
	for _, name := range installationFiles {
		paths = append(paths, filepath.Join(home, ".factory", filepath.FromSlash(name)))
	}
	for _, f := range config.UserFiles(home, config.Settings, config.LocalSettings, config.OldModels) {
		paths = append(paths, f.Path)
	}
	for _, path := range paths {
		inHome, err := filepath.Rel(home, path)
		if _, absent := os.Stat(path); home == "" || err != nil || !filepath.IsLocal(inHome) || config.IsAbsent(absent) {
			continue
		}
		link := filepath.Join(dir.Path, inHome)
		if err = errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(path, link)); err != nil {
			return nil, errors.Join(fmt.Errorf("no copy of the user's settings can be made for droid: %w", err), dir.Remove())
		}
	}
	return dir, os.MkdirAll(filepath.Join(dir.Path, ".factory"), 0o700)
}
