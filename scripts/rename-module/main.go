// Command rename-module gives the module another path, everywhere at once: in each
// go.mod, in the imports, and in what else names a package of it.
//
//	go run ./scripts/rename-module example.com/you/droid-acp
//
// The module is called droid-acp until it is published somewhere, and `go install`
// needs the path under which it can be fetched. The name of the program and all other
// names stay. It changes files that git knows, and commits nothing.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	root := flag.String("root", ".", "the repository")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/rename-module [-root DIR] example.com/you/droid-acp")
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	changed, err := rename(*root, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename-module: "+err.Error())
		os.Exit(1)
	}
	fmt.Printf("%d files changed; now run make lint and make test, and commit\n", changed)
}

// rename gives the module at root the path to, and returns how many files it changed.
// All files are read and rewritten in memory before the first is written.
func rename(root, to string) (changed int, err error) {
	if err := module.CheckPath(to); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	from := modfile.ModulePath(text)
	if from == "" {
		return 0, fmt.Errorf("go.mod names no module")
	}
	files, err := tracked(root)
	if err != nil {
		return 0, err
	}
	rewritten := make(map[string][]byte)
	for _, file := range files {
		old, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		text, err := rewrite(file, old, from, to)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if !bytes.Equal(old, text) {
			rewritten[file] = text
		}
	}
	for file, text := range rewritten {
		if err := os.WriteFile(file, text, 0o644); err != nil { // which keeps the mode of a file that exists
			return 0, err
		}
	}
	return len(rewritten), nil
}

// tracked are the files that git knows, without links and what is no longer there.
func tracked(root string) (files []string, err error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		file := filepath.Join(root, filepath.FromSlash(name))
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	return files, nil
}

// rewrite is a file's new text.
func rewrite(file string, text []byte, from, to string) ([]byte, error) {
	switch {
	case filepath.Base(file) == "go.mod":
		return rewriteModule(file, text, from, to)
	case filepath.Ext(file) == ".go":
		var err error
		if text, err = rewriteImports(file, text, from, to); err != nil {
			return nil, err
		}
	case bytes.IndexByte(text, 0) >= 0:
		return text, nil // no text
	}
	return rewriteMentions(text, from, to), nil
}

// rewriteModule renames the module of a go.mod, and those that it needs.
func rewriteModule(file string, text []byte, from, to string) ([]byte, error) {
	mod, err := modfile.Parse(file, text, nil)
	if err != nil {
		return nil, err
	}
	if renamed, ours := moved(mod.Module.Mod.Path, from, to); ours {
		if err := mod.AddModuleStmt(renamed); err != nil {
			return nil, err
		}
	}
	for _, r := range mod.Require {
		if _, ours := moved(r.Mod.Path, from, to); ours {
			return nil, fmt.Errorf("it requires %s, which this program does not know how to rename", r.Mod.Path)
		}
	}
	return mod.Format()
}

// rewriteImports renames what a Go file imports.
func rewriteImports(file string, text []byte, from, to string) ([]byte, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var edits []*ast.ImportSpec
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if _, ours := moved(path, from, to); ours {
			edits = append(edits, spec)
		}
	}
	if len(edits) == 0 {
		return text, nil
	}
	var b bytes.Buffer
	end := 0
	for _, spec := range edits {
		path, _ := strconv.Unquote(spec.Path.Value)
		renamed, _ := moved(path, from, to)
		b.Write(text[end:fset.Position(spec.Path.Pos()).Offset])
		b.WriteString(strconv.Quote(renamed))
		end = fset.Position(spec.Path.End()).Offset
	}
	b.Write(text[end:])
	return format.Source(b.Bytes()) // the imports are in another order now
}

// moved is a package's path after the renaming; ours says whether it is one of the
// module's.
func moved(path, from, to string) (renamed string, ours bool) {
	if path == from {
		return to, true
	}
	rest, ours := strings.CutPrefix(path, from+"/")
	return to + "/" + rest, ours
}

// rewriteMentions renames packages that a text names: in documents, comments and the
// strings of tests. Packages below internal are the only ones that are named so, and
// only a package's path has the module's name before "/internal/". "cmd/droid-acp" and
// the like are names of folders and stay.
func rewriteMentions(text []byte, from, to string) []byte {
	old, renamed := []byte(from+"/internal/"), []byte(to+"/internal/")
	var b bytes.Buffer
	for {
		i := bytes.Index(text, old)
		if i < 0 {
			b.Write(text)
			return b.Bytes()
		}
		b.Write(text[:i])
		if i > 0 && bytes.IndexByte([]byte("/.-_"), text[i-1]) >= 0 || i > 0 && isWord(text[i-1]) {
			b.Write(old) // the end of a longer path
		} else {
			b.Write(renamed)
		}
		text = text[i+len(old):]
	}
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
