package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayHang matches calls for which a disk, another process or a program may never return.
var mayHang = regexp.MustCompile(`^(os\.(Stat|Lstat|Open|OpenFile|Create|ReadFile|WriteFile|ReadDir|Remove|RemoveAll|Rename|Mkdir|MkdirAll)` +
	`|filepath\.(Abs|EvalSymlinks|Glob|Walk|WalkDir)|exec\.\w+|wsl\.\w+|config\.(ProjectDirs|OfProject)|files\.(Read|Write)\w*|subprocess\.\w+|editorfs\.(Open|Replay)` +
	`|.*\.store\(\)\.\w+|.*\.(cfg|[cC]onfig)\.(Store\.\w+|Trust\.(Check|Trust|Forget)|Locate|Login)|keeper\.Answer|.*\.Stat|.*\.(WriteFile|ReplayWarnings)` +
	`|<-.*\.(Exited\(\)|over))$`)

// withLimit matches the functions that wait for a call no longer than a time. Their first argument that is a string
// names the call.
var withLimit = regexp.MustCompile(`^(files\.CallBounded|files\.CallBoundedDetached|ofSession|l\.mark|.*\.[cC]alls\.Cleanup|.*\.AtEnd)$`)

// limited are the packages whose calls have a limit.
var limited = []string{"internal/adapter", "internal/adapter/session", "internal/adapter/command", "internal/adapter/launch", "internal/adapter/internal/process", "internal/droid/store"}

// exempt are functions of these packages that make such calls without a limit, each with the reason.
var exempt = map[string]string{
	"readText":              "fileReader calls it with a limit",
	"Agent.openEditorFiles": "openFiles calls it with a limit",
	"New":                   "Launcher.Stat is called with a limit",
	"Agent.authenticate":    "it runs in a goroutine for which only requests to log in wait",
	"Session.afterEnd":      "a session that ends has killed its droid",
	"startProblem":          "subprocess.LookPath takes at most 3 s",
}

// TestCallsThatHang: each call of these packages that may hang has a limit, and a name for which internal/adapter/session has a
// test in which it hangs. Each of these tests has such a call.
func TestCallsThatHang(t *testing.T) {
	m := readModule(t)
	named, unlimited := hangingCalls(m)
	for where := range exempt {
		require.Contains(t, unlimited, where, "it makes no such call any more")
		delete(unlimited, where)
	}
	require.Empty(t, unlimited, "calls that may hang, by the function that makes them: call them through files.CallBounded")
	require.Greater(t, len(named), 20)
	require.Equal(t, hangTests(m), named, "hangTests in internal/adapter/session/hang_test.go, and the names of these calls")
}

// hangingCalls returns the names of the calls of these packages that have a limit, and the others that may hang by the
// function that makes them.
func hangingCalls(m *tree) (named []string, unlimited map[string][]string) {
	unlimited = make(map[string][]string)
	for _, pkg := range limited {
		for _, file := range m.code[pkg] {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || pkg == "internal/droid/store" && !strings.HasPrefix(nameOf(m, f), "Threads.") {
					continue // of the store Threads has the limits; its other callers have theirs
				}
				fine := make(map[ast.Node]bool) // waits that end
				ast.Inspect(f, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.BlockStmt:
						for i, s := range n.List {
							fine[s] = i > 0 && m.text(s) == "<-"+strings.TrimSuffix(m.text(n.List[i-1]), ".Kill()")+".Exited()"
						}
					case *ast.SelectStmt:
						for _, c := range n.Body.List {
							fine[c.(*ast.CommClause).Comm] = len(n.Body.List) > 1
						}
					case *ast.CallExpr:
						if name := limits(m, n); name != "" {
							named = append(named, name)
							return false
						}
					case *ast.SelectorExpr, *ast.UnaryExpr:
						if text := m.text(n); mayHang.MatchString(text) {
							unlimited[nameOf(m, f)] = append(unlimited[nameOf(m, f)], text)
						}
					}
					return n == nil || !fine[n]
				})
			}
		}
	}
	slices.Sort(named)
	return slices.Compact(named), unlimited
}

// limits returns the name of the call for which this one waits with a limit, "" if it is another one.
func limits(m *tree, call *ast.CallExpr) string {
	if withLimit.MatchString(m.text(call.Fun)) {
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok {
				return strings.Trim(lit.Value, `"`)
			}
		}
	}
	return ""
}

// hangTests returns the keys of internal/adapter/session's table hangTests.
func hangTests(m *tree) (names []string) {
	for _, file := range m.tests["internal/adapter/session"] {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == "hangTests" {
				for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
					names = append(names, strings.Trim(m.text(e.(*ast.KeyValueExpr).Key), `"`))
				}
			}
			return true
		})
	}
	slices.Sort(names)
	return names
}

// nameOf returns a function's name, with its receiver's type.
func nameOf(m *tree, f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return strings.TrimPrefix(m.text(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}

// TestHangingCallsAreSeen: each form of such a call is found.
func TestHangingCallsAreSeen(t *testing.T) {
	for text, seen := range map[string]bool{
		`os.Stat("x")`:                                           true,
		`f(os.Stat)`:                                             true,
		`a.cfg.Store.Find("x")`:                                  true,
		`a.launcher.Stat("x")`:                                   true,
		`<-client.Exited()`:                                      true,
		`other.Kill(); <-client.Exited()`:                        true,
		`client.Kill(); <-client.Exited()`:                       false,
		`select { case <-client.Exited(): case <-t.C: }`:         false,
		`files.CallBounded(ctx, a.calls, "x", path, os.Stat)`:    false,
		`a.calls.Cleanup("x", limit, func() { os.Remove("x") })`: false,
		`os.Getenv("x")`:                                         false,
	} {
		_, unlimited := hangingCalls(parse(t, map[string]string{"internal/adapter/a.go": "package adapter\nfunc f() { " + text + " }\n"}))
		require.Equal(t, seen, len(unlimited) > 0, text)
	}
}
