package via

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/rawjson"
)

// Methods by which the far side tells and asks, and does nothing by itself: a path in them that is outside of
// every map stays. By all others it has the editor act on this machine.
const (
	telling          = "session/update"
	askingPermission = "session/request_permission"
)

const (
	// resolveTimeout bounds the wait for the file system of a map, which may be a mount that does not answer:
	// what else the far side says waits behind it.
	resolveTimeout = 2 * time.Second
	// maxLateResolves is how many looks may be late before no more are tried.
	maxLateResolves = 4
)

// refusal says why what the far side asks for does not reach the editor, nil where it does. line is
// rewritten; outside is what is outside of every map there, nil for nothing.
func (r *Relay) refusal(m jsonrpc.Head, line []byte, outside *outsidePath) *jsonrpc.Error {
	switch {
	case m.Method == telling, m.Method == askingPermission:
		return nil
	case strings.HasPrefix(m.Method, "terminal/") && !r.FarTerminals:
		return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", "the far side gets no terminals on the editor's machine, unless droid-acp via is started with --far-terminals")
	case outside != nil:
		return outside.farError(r.Maps)
	case strings.HasPrefix(m.Method, "fs/"):
		return r.fileRefusal(m, line)
	}
	return nil
}

// fileRefusal is refusal for a file: each path must lead into a directory of reach here, too, whatever symbolic
// links there are. (Who may change them between this look and the editor's own can still make it another file.)
func (r *Relay) fileRefusal(m jsonrpc.Head, line []byte) (refused *jsonrpc.Error) {
	refused = jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params", "there is no path that droid-acp via knows")
	if m.Params == 0 {
		return refused
	}
	paths, reach, found := protocol.PathFields(m.Method), r.reachableMaps(), false
	paths.Rewrite(line, m.Params, func(place, _ string, value []byte) []byte {
		path := ""
		if rawjson.IsString(value) {
			path = rawjson.Unquote(value)
		}
		in, err := files.CallBounded(context.Background(), r.resolveCalls, "where a path leads", path, reach.resolvesInto)
		switch {
		case errors.Is(err, files.ErrHangs):
			refused = jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params", fmt.Sprintf("%s is %q, whose file system on the editor's machine does not answer", place, path))
		case !in:
			refused = (&outsidePath{place, path}).farError(r.Maps)
		case !found:
			refused = nil
		}
		found = true
		return nil
	})
	return refused
}

// resolvesInto reports whether a path of this machine leads into the directory of a map. It follows symbolic
// links, also those of the maps themselves. The error is why that cannot be known.
func (m Maps) resolvesInto(path string) (bool, error) {
	if _, ok := readPath(path); !ok {
		return false, nil // the editor would have to guess where it begins
	}
	real, err := resolveLinks(path)
	if err != nil {
		return false, err
	}
	d, _ := readPath(real)
	for i := range m {
		root, err := resolveLinks(m[i][near].path("", false))
		if err != nil {
			continue
		}
		if of, ok := readPath(root); ok && of.contains(&d) {
			return true, nil
		}
	}
	return false, nil
}

// resolveLinks is a path without symbolic links in it. What is not there yet lies where its directory leads.
func resolveLinks(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, link := os.Lstat(path); link == nil || filepath.Dir(path) == path {
		return "", err // a link to what is not there: who writes there makes it
	}
	dir, err := resolveLinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// withoutTerminals is an initialize of the editor that offers the far side no terminals.
func withoutTerminals(line []byte, begin int) []byte {
	return paths.ParsePathFields("clientCapabilities.terminal").Rewrite(line, begin, func(string, string, []byte) []byte { return []byte("false") })
}

// rewriteLogins are the commands in the far side's answer to initialize by which the editor is to log in, in a
// terminal of this machine. Those of an agent that is known are run there, by the command of the relay; those of
// another agent are left out. What the far side wants in the environment of this machine's programs is none
// of its affairs.
func (r *Relay) rewriteLogins(line []byte, begin int, own bool) []byte {
	return paths.ParsePathFields("authMethods[].env authMethods[]._meta.terminal-auth:command").Rewrite(line, begin, func(_, kind string, value []byte) []byte {
		switch {
		case kind == paths.Command && own:
			return localCommand(r.Command, value)
		case r.FarTerminals:
			return nil
		case kind == paths.Command:
			return []byte("null")
		}
		return []byte("{}")
	})
}
