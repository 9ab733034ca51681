package droid

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EnvKey is the environment variable with an API key for droid's login.
const EnvKey = "FACTORY_API_KEY"

// loginFiles are the files in which droid stores a login, each with its own suffix for servers other than Factory's public one. The names
// are from the programs 0.99.0 and 0.225.2; no login was made to see them.
var loginFiles = []string{"auth.v2.file", "auth.v2.keyring", "auth.v2.loginkeychain", "auth.encrypted"}

// StoredLogin returns the name of a file in which droid stores a login, "" if there is none.
func StoredLogin(factory string) string {
	entries, err := os.ReadDir(factory)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if !slices.ContainsFunc(loginFiles, func(name string) bool { return e.Name() == name || strings.HasPrefix(e.Name(), name+"-") }) {
			continue
		}
		if info, err := os.Stat(filepath.Join(factory, e.Name())); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return e.Name()
		}
	}
	return ""
}

// CheckLogin checks whether droid has a login, see LacksLogin. It reads files.
func (c *Client) CheckLogin() { c.noLogin.Store(!mayHaveLogin(c.env)) }

// LacksLogin reports whether the last CheckLogin found no login.
func (c *Client) LacksLogin() bool { return c.noLogin.Load() }

// LacksLogin reports whether a droid that this starts would have no login. It reads files.
func (c Command) LacksLogin() bool { return !mayHaveLogin(c.environment()) }

// mayHaveLogin reports whether a droid with this environment may be logged in.
func mayHaveLogin(env []string) bool {
	home := Home(env)
	if home == "" || slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, EnvKey+"=") && v != EnvKey+"=" }) {
		return true
	}
	factory := filepath.Join(home, ".factory")
	_, err := os.ReadDir(factory)
	return err != nil || StoredLogin(factory) != ""
}
