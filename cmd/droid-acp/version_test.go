package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionSaysWhatItWasBuiltFrom(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	module := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	clone := []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.time", Value: "2026-11-22T06:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	here := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	for name, c := range map[string]struct {
		linked        buildOrigin
		info          *debug.BuildInfo
		version, line string
	}{
		"a release":               {buildOrigin{"1.2.3", hash, "2026-11-22T06:00:00Z"}, module("(devel)", clone...), "1.2.3", "droid-acp 1.2.3 (commit 0123456789ab of 2026-11-22, "},
		"a clone":                 {buildOrigin{}, module("v0.0.0-20261122060000-0123456789ab+dirty", clone...), "0.0.0-20261122060000-0123456789ab+dirty", "droid-acp 0.0.0-20261122060000-0123456789ab+dirty (commit 0123456789ab with changes of 2026-11-22, "},
		"make build VERSION=…":    {buildOrigin{version: "1.2.3"}, module("(devel)", clone[:2]...), "1.2.3", "droid-acp 1.2.3 (commit 0123456789ab of 2026-11-22, "},
		"without version control": {buildOrigin{}, module("(devel)"), "0.1.0-dev", "droid-acp 0.1.0-dev ("},
		"without build info":      {buildOrigin{}, nil, "0.1.0-dev", "droid-acp 0.1.0-dev ("},
	} {
		t.Run(name, func(t *testing.T) {
			got := builtFrom(c.linked, c.info)
			require.Equal(t, c.version, got.version)
			require.Equal(t, c.line+here, got.String())
		})
	}
}
