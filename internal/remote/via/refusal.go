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

// Methods by which the far side informs and asks, without an effect on this machine: a path in them that no map covers is passed on. All
// other methods make the editor act here.
const (
	telling          = "session/update"
	askingPermission = "session/request_permission"
)

const (
	// resolveTimeout limits the wait for the file system of a map, which may be a mount that does not answer: further messages of the far
	// side wait behind it.
	resolveTimeout = 2 * time.Second
	// maxLateResolves is the number of unfinished resolutions up to which new ones are started.
	maxLateResolves = 4
)

// refusal returns the error if a message of the far side must not reach the editor, otherwise nil. line is already rewritten; outside is
// the first path in it that no map covers, nil if there is none.
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

// fileRefusal is refusal for a file: each path must resolve into a reachable directory here, too, through all symbolic links. (If someone
// can change those between this check and the editor's access, the file may still be another one.)
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

// resolvesInto reports whether a path of this machine resolves into the directory of a map. It follows symbolic links, including those of
// the maps themselves. The error says why that cannot be determined.
func (m Maps) resolvesInto(path string) (bool, error) {
	if _, ok := readPath(path); !ok {
		return false, nil // the editor would have to guess its base
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

// resolveLinks returns a path with its symbolic links resolved. A file that does not exist yet is resolved by its directory.
func resolveLinks(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, link := os.Lstat(path); link == nil || filepath.Dir(path) == path {
		return "", err // a dangling link: writing to it would create its target
	}
	dir, err := resolveLinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// withoutTerminals rewrites an initialize request of the editor to offer the far side no terminals.
func withoutTerminals(line []byte, begin int) []byte {
	return paths.ParsePathFields("clientCapabilities.terminal").Rewrite(line, begin, func(string, string, []byte) []byte { return []byte("false") })
}

// rewriteLogins rewrites the commands in the far side's answer to initialize by which the editor logs in, in a terminal of this machine.
// Commands of a known agent run at the far side, through the relay's command; those of another agent are removed, as is every environment
// variable that the far side wants to set for programs of this machine.
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
