package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayHang are calls that a disk, another process or a program may let wait for good.
var mayHang = regexp.MustCompile(`^(os\.(Stat|Lstat|Open|OpenFile|Create|ReadFile|WriteFile|ReadDir|Remove|RemoveAll|Rename|Mkdir|MkdirAll)` +
	`|filepath\.(Abs|EvalSymlinks|Glob|Walk|WalkDir)|exec\.\w+|wsl\.\w+|layer\.ProjectDirs|files\.(Read|Write)\w*|child\.\w+|editorfs\.(Open|Replay)` +
	`|.*\.store\(\)\.\w+|.*\.cfg\.(Store\.\w+|Trust\.(Check|Trust|Forget)|Locate|Login)|keeper\.Answer|.*\.Stat|.*\.(WriteFile|ReplayWarnings|HasChildren)` +
	`|<-.*\.(Exited\(\)|over))$`)

// bounders are the functions through which a call that may hang goes: it is waited for no
// longer than a bound, and the first argument that is a text names it.
var bounders = regexp.MustCompile(`^(files\.CallBounded|files\.CallBoundedDetached|ofSession|o\.mark|.*\.calls\.Cleanup|.*\.atEnd)$`)

// bounded are the packages whose calls go through a bounder.
var bounded = []string{"internal/adapter", "internal/adapter/opening", "internal/adapter/internal/process", "internal/droid/store"}

// unbounded are functions of these packages that make such calls without a bound of their own,
// and why that holds up nobody.
var unbounded = map[string]string{
	// These are called within a bound.
	"readText":         "by fileReader",
	"editorFiles.open": "by openFiles", "New": "as Opener.Stat",
	// These run beside, in goroutines of which none but their own session's work waits.
	"Agent.authenticate": "beside, for the requests to log in alone",
	// These wait for a droid that was killed, which is gone, or given up, within some seconds
	// (droid.Client.Exited).
	"Opener.Copy": "beside", "Opener.openIn": "beside", "Opener.takeSpare": "beside", "Opener.lookAgain": "beside", "Session.launch": "beside",
	"Session.start": "in the owner of a session that ends", "Session.afterEnd": "in the owner of a session that ends",
	// These ask the kernel for its list of processes.
	"slashRun.endCompaction": "in the owner", "Session.mustRenew": "in the owner", "Session.droidRests": "in the owner",
	"Process.NotWatched": "in the owner",
	"startProblem":       "in the owner, 3 s (child.LookPath) for a server of its own session whose program cannot be looked for",
}

// TestCallsThatHang: each call of these packages that may hang goes through a bounder, under a
// name for which internal/adapter has a test in which it does hang; and no such test is left
// over.
func TestCallsThatHang(t *testing.T) {
	m := readModule(t)
	named, loose := hangingCalls(m)
	for where := range unbounded {
		require.Contains(t, loose, where, "it makes no such call any more")
		delete(loose, where)
	}
	require.Empty(t, loose, "calls that may hang, by the function that makes them: have them go through files.CallBounded")
	require.Greater(t, len(named), 20)
	require.Equal(t, hangTests(m), named, "hangTests in internal/adapter/hang_test.go, and the names of these calls")
}

// hangingCalls are the names of the bounded calls of these packages, and the others that may hang
// by the function that has them.
func hangingCalls(m *tree) (named []string, loose map[string][]string) {
	loose = make(map[string][]string)
	for _, pkg := range bounded {
		for _, file := range m.code[pkg] {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || pkg == "internal/droid/store" && !strings.HasPrefix(nameOf(m, f), "Threads.") {
					continue // of the store Threads has the bounds; its other callers have theirs
				}
				among := make(map[ast.Node]bool) // what a select waits for beside something else
				ast.Inspect(f, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.SelectStmt:
						for _, c := range n.Body.List {
							among[c.(*ast.CommClause).Comm] = len(n.Body.List) > 1
						}
					case *ast.CallExpr:
						if name := bounds(m, n); name != "" {
							named = append(named, name)
							return false
						}
					case *ast.SelectorExpr, *ast.UnaryExpr:
						if text := m.text(n); mayHang.MatchString(text) {
							loose[nameOf(m, f)] = append(loose[nameOf(m, f)], text)
						}
					}
					return n == nil || !among[n]
				})
			}
		}
	}
	slices.Sort(named)
	return slices.Compact(named), loose
}

// bounds is the name that a call of a bounder gives the call it bounds, "" for all else.
func bounds(m *tree, call *ast.CallExpr) string {
	if bounders.MatchString(m.text(call.Fun)) {
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok {
				return strings.Trim(lit.Value, `"`)
			}
		}
	}
	return ""
}

// hangTests are the names in the table of that name.
func hangTests(m *tree) (names []string) {
	for _, file := range m.tests["internal/adapter"] {
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

// nameOf is what a function is called, with its receiver's type.
func nameOf(m *tree, f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return strings.TrimPrefix(m.text(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}

// TestHangingCallsAreSeen: each way to make such a call is noticed.
func TestHangingCallsAreSeen(t *testing.T) {
	for text, seen := range map[string]bool{
		`os.Stat("x")`:          true,
		`f(os.Stat)`:            true,
		`a.cfg.Store.Find("x")`: true,
		`a.opener.Stat("x")`:    true,
		`<-client.Exited()`:     true,
		`select { case <-client.Exited(): case <-t.C: }`:         false,
		`files.CallBounded(ctx, a.calls, "x", path, os.Stat)`:    false,
		`a.calls.Cleanup("x", limit, func() { os.Remove("x") })`: false,
		`os.Getenv("x")`: false,
	} {
		_, loose := hangingCalls(parse(t, map[string]string{"internal/adapter/a.go": "package adapter\nfunc f() { " + text + " }\n"}))
		require.Equal(t, seen, len(loose) > 0, text)
	}
}
