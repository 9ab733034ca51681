package main

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Values set by the linker in a release; they override the build info.
var (
	Version string // "1.2.3"
	Commit  string // the commit's full hash, with "-modified" if files differed from it
	Date    string // the commit's time, RFC 3339
)

// buildOrigin describes the source that the program was built from.
type buildOrigin struct {
	version string
	commit  string // "" if unknown
	date    string // "" if unknown
}

// builtFrom returns the origin from the linker's values, otherwise from Go's build info: the version of the module, and the commit if it
// was built in a clone.
func builtFrom(linked buildOrigin, info *debug.BuildInfo) buildOrigin {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	o := linked
	if o.version == "" && info.Main.Version != "(devel)" {
		o.version = strings.TrimPrefix(info.Main.Version, "v")
	}
	if o.version == "" {
		o.version = "0.1.0-dev"
	}
	if o.commit != "" {
		return o
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			o.commit = s.Value
		case s.Key == "vcs.time":
			o.date = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	if o.commit != "" {
		o.commit += modified
	}
	return o
}

// String returns the output of --version: the version, then what is known of the commit, Go and the system.
func (o buildOrigin) String() string {
	var about []string
	if o.commit != "" {
		commit, modified := strings.CutSuffix(o.commit, "-modified")
		commit = "commit " + commit[:min(12, len(commit))]
		if modified {
			commit += " with changes"
		}
		if o.date != "" {
			commit += " of " + o.date[:min(len("2006-01-02"), len(o.date))]
		}
		about = append(about, commit)
	}
	about = append(about, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return "droid-acp " + o.version + " (" + strings.Join(about, ", ") + ")"
}

// built returns the origin of this program.
func built() buildOrigin {
	info, _ := debug.ReadBuildInfo()
	return builtFrom(buildOrigin{Version, Commit, Date}, info)
}

// version returns the version as sent to clients.
func version() string { return built().version }
