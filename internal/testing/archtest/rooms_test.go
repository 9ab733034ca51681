package archtest

import (
	"fmt"
	"go/ast"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayImport says for each room which rooms it may import. What a pure room imports
// must be pure, too.
var mayImport = map[string]string{
	"internal/droid/stream":               "internal/text/rawjson internal/droid/sessionid",
	"internal/droid/layer":                "internal/sys/files internal/text/paths",
	"internal/droid":                      "internal/sys/child internal/droid/layer internal/droid/stream internal/sys/files internal/jsonrpc internal/sys/memory internal/droid/sessionid internal/sys/tempdir",
	"internal/workspace/trust":            "internal/droid/layer internal/sys/files internal/text/markdown internal/text/paths internal/text/visible",
	"internal/droid/hooks":                "internal/droid/stream internal/text/paths",
	"internal/quirks":                     "internal/droid/stream",
	"internal/acp/protocol":               "internal/text/paths internal/text/visible",
	"internal/adapter/internal/prompt":    "internal/droid/stream internal/text/paths internal/text/visible",
	"internal/adapter/mcp":                "internal/droid/stream",
	"internal/adapter/turns":              "",
	"internal/adapter/internal/filecalls": "internal/droid/stream internal/text/patch internal/text/paths internal/quirks",
	"internal/adapter/internal/waiting":   "",
	"internal/adapter/internal/owner":     "internal/adapter/problem",
	"internal/sys/bounded":                "internal/sys/files",
	"internal/adapter/opening":            "internal/sys/bounded internal/droid internal/droid/layer internal/droid/stream internal/sys/files internal/adapter/instructions internal/sys/memory internal/adapter/options internal/text/paths internal/adapter/problem internal/droid/store internal/workspace/trust internal/workspace/wsl",
	"internal/droid/threads":              "internal/sys/bounded internal/droid/links internal/droid/store",
	"internal/adapter/internal/process":   "internal/droid internal/droid/stream internal/quirks",
	"internal/adapter/internal/calllog":   "internal/adapter/problem internal/acp/protocol internal/droid/sessionid internal/text/visible internal/acp/wire",
	"internal/adapter/internal/usage":     "internal/droid/stream internal/acp/protocol internal/quirks internal/show/transcript",
	"internal/adapter/internal/loading":   "internal/droid/stream internal/quirks",
	"internal/adapter/internal/commands":  "internal/droid internal/droid/stream internal/acp/protocol internal/show",
	"internal/adapter/internal/registry":  "",
	"internal/show":                       "internal/quirks internal/droid/stream internal/acp/protocol internal/text/patch internal/text/paths internal/text/markdown internal/text/rawjson internal/text/visible",
	"internal/adapter/options":            "internal/droid/stream internal/acp/protocol",
	"internal/sys/files":                  "",
	"internal/sys/memory":                 "",
	"internal/adapter/internal/readfile":  "internal/sys/files internal/show",
	"internal/workspace/editorfs":         "internal/sys/files internal/text/udiff",
	"internal/acp/wire":                   "internal/jsonrpc",
	"internal/adapter/internal/shell":     "internal/sys/child internal/text/markdown",
	"internal/workspace/wsl":              "internal/sys/child",
	"internal/adapter/internal/rewind":    "internal/droid internal/droid/stream internal/quirks internal/show",
	"internal/jsonrpc":                    "internal/sys/memory internal/text/rawjson internal/text/visible",
	"internal/show/export":                "internal/sys/files internal/text/visible",
	"internal/show/transcript":            "internal/show/export internal/quirks internal/droid/stream internal/show internal/acp/protocol internal/text/patch internal/text/paths internal/text/udiff",
	"internal/text/patch":                 "",
	"internal/text/udiff":                 "",
	"internal/cli/smoke":                  "internal/droid/diagnosis internal/sys/files internal/jsonrpc internal/text/udiff internal/text/visible",
	"internal/text/paths":                 "internal/text/rawjson",
	"internal/text/rawjson":               "",
	"internal/text/markdown":              "",
	"internal/text/visible":               "",
	"internal/droid/sessionid":            "",
	"internal/sys/child":                  "internal/sys/files internal/sys/nowait",
	"internal/sys/tempdir":                "internal/sys/files",
	"internal/droid/login":                "internal/sys/child internal/sys/files internal/jsonrpc internal/text/paths internal/sys/tempdir internal/text/visible",
	"internal/droid/store":                "internal/sys/files internal/droid/links internal/droid/sessionid internal/text/visible",
	"internal/droid/links":                "internal/droid/sessionid internal/text/visible",
	"internal/sys/nowait":                 "",
	"internal/droid/diagnosis":            "internal/sys/child internal/droid internal/text/paths",
	"internal/droid/install":              "internal/sys/child internal/droid/diagnosis internal/droid internal/sys/files",
	"internal/cli/doctor":                 "internal/sys/child internal/droid/diagnosis internal/droid internal/droid/layer internal/droid/stream internal/sys/files internal/droid/store internal/sys/tempdir internal/text/visible",
	"internal/testing/testeditor":         "",
	"internal/adapter/problem":            "internal/adapter/accounts internal/droid/diagnosis internal/droid internal/droid/stream internal/sys/files internal/droid/login internal/acp/protocol internal/quirks internal/show internal/adapter/turns internal/text/visible internal/acp/wire",
	"internal/adapter/instructions":       "internal/droid/stream internal/adapter/mcp internal/text/paths",
	"internal/adapter/accounts":           "internal/droid/login internal/acp/protocol internal/quirks internal/text/visible internal/acp/wire",
	"internal/adapter/internal/telling":   "internal/acp/protocol internal/text/rawjson internal/show internal/acp/wire",
	"internal/cli/flags":                  "internal/droid/stream",
	"internal/remote/serve":               "internal/remote/relay internal/sys/child internal/sys/files internal/jsonrpc internal/text/markdown internal/acp/protocol internal/text/rawjson internal/text/udiff internal/text/visible",
	"internal/remote/relay":               "internal/acp/protocol internal/sys/child internal/jsonrpc",
	"internal/remote/keep":                "internal/sys/child internal/sys/files internal/jsonrpc internal/remote/relay internal/remote/serve internal/text/visible",
	"internal/remote/via":                 "internal/sys/child internal/sys/files internal/jsonrpc internal/sys/nowait internal/text/paths internal/acp/protocol internal/remote/relay internal/text/rawjson",
	"internal/remote/transport":           "internal/remote/serve",
	"internal/adapter": "internal/adapter/accounts internal/sys/bounded internal/adapter/internal/calllog internal/sys/child internal/adapter/internal/commands internal/droid/diagnosis " +
		"internal/droid internal/droid/layer internal/droid/stream internal/workspace/editorfs internal/adapter/internal/filecalls " +
		"internal/sys/files internal/droid/hooks internal/adapter/instructions internal/droid/links internal/adapter/internal/loading internal/droid/login " +
		"internal/adapter/mcp internal/sys/memory internal/adapter/opening internal/adapter/options internal/adapter/internal/owner internal/text/paths internal/adapter/problem internal/text/rawjson " +
		"internal/adapter/internal/process internal/adapter/internal/prompt internal/acp/protocol internal/quirks internal/adapter/internal/readfile " +
		"internal/adapter/internal/registry internal/adapter/internal/rewind internal/droid/sessionid internal/adapter/internal/shell internal/show internal/droid/store " +
		"internal/adapter/internal/telling internal/droid/threads internal/show/transcript internal/workspace/trust internal/adapter/turns internal/adapter/internal/usage " +
		"internal/text/visible internal/adapter/internal/waiting internal/acp/wire",
}

// pure are the rooms that start nothing, wait for nothing and reach nothing outside.
var pure = []string{
	"internal/droid/stream", "internal/quirks", "internal/acp/protocol", "internal/adapter/internal/prompt", "internal/adapter/turns", "internal/adapter/internal/waiting", "internal/adapter/internal/loading", "internal/adapter/internal/filecalls", "internal/show",
	"internal/adapter/mcp", "internal/adapter/options", "internal/droid/links", "internal/text/patch", "internal/text/udiff", "internal/text/paths", "internal/text/rawjson", "internal/text/markdown", "internal/text/visible", "internal/droid/sessionid",
	"internal/cli/flags", "internal/adapter/instructions",
}

// impure are packages that a pure room may not import. Of package sync it may have
// OnceValue, by which what is slow to build is built when it is first asked for and not
// when the program starts.
var impure = []string{
	"context", "os", "net", "sync/atomic", "syscall", "log", "runtime", "math/rand", "crypto/rand", "io/fs", "io/ioutil", "embed", "plugin",
	"github.com/google/uuid", "go.uber.org/zap", "golang.org/x/sys",
}

// clock are the functions of package time that ask the clock or wait.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Timer", "Ticker"}

func TestImports(t *testing.T) {
	m := readModule(t)
	for room := range mayImport {
		require.NotEmpty(t, m.code(room), "%s is no room any more", room)
	}
	require.Empty(t, withoutRow(m), "say in mayImport what they may import")
	require.Empty(t, wrongImports(m))
}

// withoutRow are packages of the program of which mayImport says nothing.
func withoutRow(m *tree) (packages []string) {
	for room := range m.rooms {
		_, has := mayImport[room]
		if name, found := strings.CutPrefix(room, "internal/"); found && !has && !strings.HasPrefix(name, "testing/") && len(m.code(room)) > 0 {
			packages = append(packages, room)
		}
	}
	sort.Strings(packages)
	return packages
}

// wrongImports are imports that mayImport does not allow.
func wrongImports(m *tree) (wrong []string) {
	for room, allowed := range mayImport {
		for other := range m.ownImports(room) {
			if !slices.Contains(strings.Fields(allowed), other) {
				wrong = append(wrong, room+" imports "+other)
			}
			if slices.Contains(pure, room) && !slices.Contains(pure, other) {
				wrong = append(wrong, "the pure "+room+" imports "+other+", which is not pure")
			}
		}
	}
	sort.Strings(wrong)
	return wrong
}

// slowToStart are libraries that the program does not import: they parse tables whenever
// a program starts, and each start of the agent and of its hook would wait for that. The
// times are those of a small program, on two shared processors.
var slowToStart = []string{
	"github.com/alecthomas/chroma/v2/lexers", // 5 ms
	"github.com/yuin/goldmark/extension",     // 1 ms, with what it imports
	"github.com/spf13/cobra/doc",             // 0.3 ms, with what it imports
	"runtime/metrics",                        // 0.1 ms
}

func TestStartIsNotSlowed(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "../../../cmd/droid-acp").Output()
	require.NoError(t, err)
	program := strings.Fields(string(list))
	require.Contains(t, program, module+"/internal/show/export")
	for _, slow := range slowToStart {
		require.NotContains(t, program, slow)
	}
}

// A pattern that a program compiles whenever it starts costs each start and each hook 10 to 50 µs.
func TestNoPatternIsCompiledAtStart(t *testing.T) {
	m := readModule(t)
	for room := range mayImport {
		for _, s := range m.code(room) {
			for _, d := range s.file.Decls {
				ast.Inspect(d, func(n ast.Node) bool {
					call, ok := n.(*ast.SelectorExpr)
					if ok && call.Sel.Name == "MustCompile" {
						t.Errorf("%s: give it sync.OnceValue", m.fset.Position(n.Pos()))
					}
					_, function := n.(*ast.FuncLit)
					_, method := n.(*ast.FuncDecl)
					return !function && !method
				})
			}
		}
	}
}

func TestPureRooms(t *testing.T) { require.Empty(t, impurities(readModule(t))) }

// impurities are the places where a pure room starts, waits or reaches out.
func impurities(m *tree) (found []string) {
	for _, room := range pure {
		for _, s := range m.code(room) {
			add := func(n ast.Node, what string) {
				found = append(found, fmt.Sprintf("%s: %s", m.fset.Position(n.Pos()), what))
			}
			for _, of := range s.imports() {
				if slices.ContainsFunc(impure, func(p string) bool { return of == p || strings.HasPrefix(of, p+"/") && of != "net/url" }) {
					add(s.file, "imports "+of)
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					add(n, "a goroutine")
				case *ast.ChanType:
					add(n, "a channel")
				case *ast.SelectStmt:
					add(n, "a select")
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						add(n, "time."+n.Sel.Name)
					}
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" && n.Sel.Name != "OnceValue" {
						add(n, "sync."+n.Sel.Name)
					}
				}
				return true
			})
		}
	}
	sort.Strings(found)
	return found
}

// mayRun are the packages that may start programs, and why: those of internal/sys/child end
// with what they started, and nobody waits for them, or for looking them up, without a bound.
var mayRun = map[string]string{
	"internal/sys/child":         "it is the room for that",
	"internal/testing/fakedroid": "a droid for tests, which runs hooks as droid does",
	"internal/testing/fakelogin": "a droid for tests, which leaves a browser behind as droid does",
}

func TestPrograms(t *testing.T) {
	m := readModule(t)
	require.Empty(t, startedBeside(m))
	for room, why := range mayRun {
		require.NotEmpty(t, m.code(room), "%s is no room any more", room)
		require.NotEmpty(t, why)
	}
}

// startedBeside are the places outside mayRun that start programs or look for them.
func startedBeside(m *tree) (found []string) {
	for room := range m.rooms {
		for _, s := range m.code(room) {
			if mayRun[room] != "" {
				continue
			}
			imports := s.imports()
			for _, of := range imports {
				if of == "os/exec" {
					found = append(found, s.name+" imports os/exec")
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if n, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := n.X.(*ast.Ident); ok && starts[imports[x.Name]+"."+n.Sel.Name] {
						found = append(found, fmt.Sprintf("%s: %s.%s", m.fset.Position(n.Pos()), x.Name, n.Sel.Name))
					}
				}
				return true
			})
		}
	}
	sort.Strings(found)
	return found
}

// starts are functions that start programs, beside those of os/exec.
var starts = map[string]bool{"os.StartProcess": true, "syscall.StartProcess": true, "syscall.ForkExec": true, "syscall.Exec": true,
	"golang.org/x/sys/unix.Exec": true, "golang.org/x/sys/windows.CreateProcess": true}

// TestGlobals: a package-level variable is a table or a value that nobody changes, so
// no function assigns to one.
func TestGlobals(t *testing.T) { require.Empty(t, changedGlobals(readModule(t))) }

// changedGlobals are assignments to package-level variables.
func changedGlobals(m *tree) (found []string) {
	for room := range m.rooms {
		globals := make(map[string]bool)
		for _, s := range m.code(room) {
			for _, d := range s.file.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok.String() == "var" {
					for _, spec := range g.Specs {
						for _, name := range spec.(*ast.ValueSpec).Names {
							globals[name.Name] = true
						}
					}
				}
			}
		}
		for _, s := range m.code(room) {
			for _, d := range s.file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Body == nil {
					continue
				}
				local := localNames(f)
				ast.Inspect(f.Body, func(n ast.Node) bool {
					assign, ok := n.(*ast.AssignStmt)
					if !ok || assign.Tok.String() == ":=" {
						return true
					}
					for _, to := range assign.Lhs {
						if base := baseName(to); base != "_" && globals[base] && !local[base] {
							found = append(found, fmt.Sprintf("%s: %s is changed", m.fset.Position(n.Pos()), base))
						}
					}
					return true
				})
			}
		}
	}
	sort.Strings(found)
	return found
}

// baseName is the name that an expression begins with.
func baseName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// localNames are the names that a function declares.
func localNames(f *ast.FuncDecl) map[string]bool {
	names := make(map[string]bool)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok.String() == ":=" {
				for _, to := range n.Lhs {
					names[baseName(to)] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.RangeStmt:
			if n.Tok.String() == ":=" {
				names[baseName(n.Key)] = true
				if n.Value != nil {
					names[baseName(n.Value)] = true
				}
			}
		}
		return true
	})
	return names
}
