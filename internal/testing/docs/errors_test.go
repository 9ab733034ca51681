package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// errorWords are the words that errors of code -32603 begin with, and the codes of all, as a
// program has them.
type errorWords struct {
	words   map[string]bool
	strange []string // calls whose word this test cannot tell
}

// computed are functions that make an error with a word that they are given or that they
// look up. The words are found where they come from.
var computed = map[string]string{
	"Internal": "its callers give it", "NotSet": "its callers give it", "Turn": "a diagnosis.Kind, or from reasonFromMessage",
	"NotStarted": "a diagnosis.Kind", "InternalError": "its callers give it", "rpc": "a via.Kind",
	"CopyNotOpened": "from another error", "settled": "from options.optionNames",
}

// addFile adds the words of a file.
func (w *errorWords) addFile(fset *token.FileSet, file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Body != nil {
				w.addFunc(fset, decl)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					w.addTable(spec)
				}
			}
		}
	}
}

func (w *errorWords) addFunc(fset *token.FileSet, f *ast.FuncDecl) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			if f.Name.Name == "reasonFromMessage" {
				w.words[literal(n.Results[0])] = true
			}
		case *ast.CallExpr:
			name, args := called(n), n.Args
			if name == "NewError" && len(args) == 3 {
				if code := literalCode(args[0]); code != "-32603" && code != "codeInternalError" {
					return true
				}
				args = args[1:]
			} else if name != "Internal" && name != "InternalError" && name != "NotSet" {
				return true
			}
			switch word := literal(args[0]); {
			case word != "" && name == "NotSet":
				w.words[word+"_refused"] = true
			case word != "":
				w.words[word] = true
			case computed[f.Name.Name] == "" && literalCode(args[0]) != "kindInternal":
				w.strange = append(w.strange, fset.Position(n.Pos()).String())
			}
		}
		return true
	})
}

// addTable adds the kinds of errors and the values of the table of options.
func (w *errorWords) addTable(spec *ast.ValueSpec) {
	kind, _ := spec.Type.(*ast.Ident)
	for i, name := range spec.Names {
		if len(spec.Values) <= i {
			return
		}
		// That of a missing login is a code instead.
		if name.Name == "kindInternal" || kind != nil && kind.Name == "Kind" && name.Name != "NotLoggedIn" {
			w.words[literal(spec.Values[i])] = true
		}
		table, ok := spec.Values[i].(*ast.CompositeLit)
		if !ok || name.Name != "optionNames" {
			continue
		}
		for _, element := range table.Elts {
			kind := strings.ReplaceAll(literal(element.(*ast.KeyValueExpr).Value), " ", "_")
			w.words[kind+"_refused"], w.words[kind+"_ignored"] = true, true
		}
	}
}

// called is the name of a function or method that is called.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literal is the text of a string, "" for anything else.
func literal(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		text, _ := strconv.Unquote(lit.Value) // the compiler has read it
		return text
	}
	return ""
}

func literalCode(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return e.Op.String() + literalCode(e.X)
	case *ast.BasicLit:
		return e.Value
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var codePattern = regexp.MustCompile(`-32\d{3}\b`)

// readErrorWords reads the words and codes of some packages, without their tests.
func readErrorWords(t *testing.T, dirs ...string) *errorWords {
	t.Helper()
	w := &errorWords{words: map[string]bool{}}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		require.NoError(t, err)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			w.add(t, path, string(text))
		}
	}
	return w
}

func (w *errorWords) add(t *testing.T, path, text string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	w.addFile(fset, file)
	for _, code := range codePattern.FindAllString(text, -1) {
		w.words[code] = true
	}
}

// checkErrors compares the words of the code with those in the first column of the page.
func checkErrors(page string, w *errorWords) (wrong []string) {
	wrong = append(wrong, w.strange...)
	told := map[string]bool{}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range quotedPattern.FindAllStringSubmatch(cells[1], -1) {
			if told[m[1]] {
				wrong = append(wrong, m[1]+" is told twice")
			}
			told[m[1]] = true
			if !w.words[m[1]] {
				wrong = append(wrong, "no error begins with "+m[1])
			}
		}
	}
	for word := range w.words {
		if !told[word] {
			wrong = append(wrong, fmt.Sprintf("%q is not told", word))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// TestEveryErrorIsTold: docs/errors.md has the words and codes of the program, and no others.
func TestEveryErrorIsTold(t *testing.T) {
	w := readErrorWords(t, "internal/adapter", "internal/adapter/opening", "internal/adapter/problem", "internal/jsonrpc", "internal/acp/wire", "internal/droid/login", "internal/adapter/options", "internal/droid/diagnosis", "internal/remote/serve", "internal/remote/keep", "internal/remote/transport", "internal/remote/via")
	delete(w.words, "")
	require.Greater(t, len(w.words), 40)
	require.Empty(t, checkErrors(read(t, filepath.Join(root, "docs/errors.md")), w))
}

func TestWrongErrorsAreFound(t *testing.T) {
	const code = `package a
const (
	Poor        Kind = "poor"
	Gone        Kind = "gone"
	NotLoggedIn Kind = "stranger"
)
var optionNames = map[string]string{x: "big mode"}
func settled() { _ = problem.Internal(kind+"_ignored", "") }
func reasonFromMessage() string { return "late" }
func f() error { wire.NewError(-32602, "Invalid params", ""); wire.NewError(-32603, "lost", ""); problem.NotSet("switch", "", nil); return problem.Internal("shut", "") }
`
	const page = "| word | what | do |\n| `poor`, `gone` | a `b` | c |\n| `late` | | |\n| `lost` | | |\n| `shut` | | |\n| `switch_refused` | | |\n" +
		"| `big_mode_refused`, `big_mode_ignored` | | |\n| `-32602` | |\n| `-32603` | |\n"
	words := func(code string) *errorWords {
		w := &errorWords{words: map[string]bool{}}
		w.add(t, "a.go", code)
		return w
	}
	require.Empty(t, checkErrors(page, words(code)))
	for _, told := range quotedPattern.FindAllString(page, -1) {
		if told != "`b`" {
			require.Len(t, checkErrors(strings.Replace(page, told, "", 1), words(code)), 1, told)
		}
	}
	require.Len(t, checkErrors(page+"| `more` | | |\n", words(code)), 1)
	require.Len(t, checkErrors(page+"| `late` | | |\n", words(code)), 1, "twice")
	require.Len(t, checkErrors(page, words(code+"func g() { problem.Internal(\"new\", \"\") }\n")), 1)
	require.Len(t, checkErrors(page, words(code+"func g(k string) { problem.Internal(k, \"\") }\n")), 1, "a word that cannot be told")
	require.Len(t, checkErrors(page, words(code+"const c = -32001\n")), 1)
}
