package archtest

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// givesUp are the functions that give a session's lock up and get it back, and takes those that take it.
var (
	givesUp = regexp.MustCompile(`monitor\.Monitor\)\.(WaitFor|Await|Unlocked|WaitIdle)$|updates\.(Question|Request\[.*\])\)\.(Await|WaitUntil|Run)$`)
	takes   = regexp.MustCompile(`session\.Session\)\.Enter$|monitor\.Monitor\)\.Lock$`)
	// elsewhere are those whose functions run in another goroutine, or without the lock.
	elsewhere = regexp.MustCompile(`monitor\.Monitor\)\.(Go|Post|Unlocked)$|session\.Session\)\.(async|hold|unlocked\w*)$`)
)

// TestLockIsGivenUpInSight: of the functions that are called with a session's lock only those give it up that have a context: what
// applies events, decides, or is a condition never does.
func TestLockIsGivenUpInSight(t *testing.T) {
	loose, all := givesUpUnseen(t, "internal/adapter/session")
	require.Empty(t, loose)
	require.Greater(t, all, 40)
}

// givesUpUnseen are the functions of a package that give the lock up and have no context, and how many give it up.
func givesUpUnseen(t *testing.T, pkg string) (loose []string, all int) {
	m := readModule(t)
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(m.fset, "gc", exported(t, "./../../../"+pkg))}
	_, err := config.Check(module+"/"+pkg, m.fset, m.code[pkg], info)
	require.NoError(t, err)
	gives := make(map[types.Object]*ast.FuncDecl)
	for again := true; again; {
		again = false
		for _, file := range m.code[pkg] {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if ok && gives[info.Defs[f.Name]] == nil && calls(info, f, func(o *types.Func) bool { return givesUp.MatchString(o.FullName()) || gives[o.Origin()] != nil }) &&
					!calls(info, f, func(o *types.Func) bool { return takes.MatchString(o.FullName()) }) {
					gives[info.Defs[f.Name]], again = f, true
				}
			}
		}
	}
	for o := range gives {
		if o.Name() == "end" {
			continue // of the session: nothing follows
		}
		if signature := types.TypeString(o.Type(), nil); !strings.Contains(signature, "context.Context") {
			loose = append(loose, o.Name())
		}
	}
	return loose, len(gives)
}

// calls reports whether a function calls, in the goroutine and with the lock that it has itself, one for which is reports true.
func calls(info *types.Info, f *ast.FuncDecl, is func(*types.Func) bool) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			_, goes := n.(*ast.GoStmt)
			return !goes
		}
		o := callee(info, call)
		if o == nil {
			return true
		}
		found = found || is(o)
		return !elsewhere.MatchString(o.FullName())
	})
	return found
}

func callee(info *types.Info, call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	var name *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		name = fun
	case *ast.SelectorExpr:
		name = fun.Sel
	default:
		return nil
	}
	o, _ := info.Uses[name].(*types.Func)
	return o
}

// exported finds what the compiler has written of the packages that one imports.
func exported(t *testing.T, dir string) importer.Lookup {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	files := make(map[string]string)
	for line := range bytes.Lines(out) {
		name, file, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		files[name] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}
