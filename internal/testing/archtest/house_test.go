package archtest

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wings says which wings each may import, besides itself. What is about droid knows nothing of ACP,
// and what is about ACP nothing of droid. No wing imports internal/testing, which is for tests.
var wings = map[string]string{
	"cmd":       "adapter cli remote workspace droid acp jsonrpc sys text",
	"adapter":   "show quirks workspace droid acp jsonrpc sys text",
	"show":      "quirks droid acp sys text",
	"quirks":    "droid",
	"workspace": "droid sys text",
	"cli":       "droid jsonrpc sys text",
	"remote":    "acp jsonrpc sys text",
	"droid":     "jsonrpc sys text",
	"acp":       "jsonrpc text",
	"jsonrpc":   "sys text",
	"sys":       "",
	"text":      "",
	"testing":   "droid jsonrpc sys text",
}

// wingOf is the wing of a package of the module.
func wingOf(pkg string) string {
	wing, _, _ := strings.Cut(strings.TrimPrefix(pkg, "internal/"), "/")
	return wing
}

// wrongImports are the imports from wing to wing that the table does not have.
func wrongImports(m *tree) (wrong []string) {
	for pkg := range m.code {
		of := wingOf(pkg)
		may, known := wings[of]
		if !known {
			wrong = append(wrong, pkg+" stands in no wing")
		}
		for use := range m.all(pkg) {
			other, own := strings.CutPrefix(use, module+"/internal/")
			if to := wingOf(other); own && !strings.Contains(other, ".") && to != of && !slices.Contains(strings.Fields(may), to) {
				wrong = append(wrong, pkg+" imports internal/"+other)
			}
		}
	}
	return wrong
}

// pure are packages, with all below them, that start nothing, wait for nothing and reach nothing
// outside; impure are those below them that do.
var (
	pure = []string{"internal/quirks", "internal/show", "internal/text", "internal/droid/stream", "internal/acp/protocol",
		"internal/adapter/turns", "internal/adapter/options", "internal/adapter/mcp", "internal/adapter/internal/prompt"}
	impure = []string{"internal/show/export"}
)

func isPure(pkg string) bool {
	within := func(dir string) bool { return strings.HasPrefix(pkg+"/", dir+"/") }
	return slices.ContainsFunc(pure, within) && !slices.ContainsFunc(impure, within)
}

// reachesOut is what a pure package may not import or use.
var reachesOut = regexp.MustCompile(`^(go|chan|select|context|os|net|net/[^u].*|syscall|log|runtime|embed|plugin|io/(fs|ioutil)|(math|crypto)/rand|sync/atomic` +
	`|(github.com/google/uuid|go.uber.org/zap|golang.org/x/sys)\b.*|(os|log|runtime)/.*` +
	`|sync\.([^O].*|Once|OnceFunc|OnceValues)|time\.(Now|Since|Until|After|AfterFunc|Sleep|Tick|Ticker|Timer|NewTimer|NewTicker))$`)

func impurities(m *tree) (found []string) {
	for pkg := range m.code {
		for use := range m.all(pkg) {
			own, isOwn := strings.CutPrefix(use, module+"/")
			if isPure(pkg) && (reachesOut.MatchString(use) || isOwn && !strings.Contains(own, ".") && !isPure(own)) {
				found = append(found, pkg+": "+use)
			}
		}
	}
	return found
}

// reach are what only some packages import or use, and which: "cmd" stands for cmd/droid-acp, the
// others are below internal. The wing testing is free.
var reach = map[string]struct {
	use   *regexp.Regexp
	where string
}{
	// internal/sys/child ends with what it started, and nobody waits for a program without a bound.
	"starts programs": {regexp.MustCompile(`^os/exec$|^(os|syscall|golang\.org/x/sys/\w+)\.(StartProcess|ForkExec|Exec|CreateProcess)$`), "sys/child"},
	// internal/sys/files reads within bounds and writes whole. The others say in place why they do not ask it.
	"opens files": {regexp.MustCompile(`^os\.(Create|CreateTemp|Link|Open|OpenFile|ReadFile|Rename|WriteFile)$|^io\.ReadAll$|/unix\.Flock$`),
		"sys/files cmd cli/doctor droid/login droid/store remote/keep remote/serve remote/transport sys/child sys/memory workspace/editorfs"},
	// SECURITY.md: droid-acp opens no connection to the network, and is reached from there by serve --listen alone.
	"knows networks": {regexp.MustCompile(`^(net|net/[^u].*|crypto/tls|golang\.org/x/net\b.*|github\.com/coder/websocket)$|\.Socket$`), "cmd droid/hooks remote/keep remote/transport"},
	// The others of those have sockets that are files of this machine.
	"connects": {regexp.MustCompile(`^connect$`), "cmd remote/transport"},
	// Each start of the program and of a hook would wait until these have parsed their tables: 5, 1, 0.3 and 0.1 ms.
	"is slow to start": {regexp.MustCompile(`^(github\.com/(alecthomas/chroma/v2/lexers|yuin/goldmark/extension|spf13/cobra/doc)|runtime/metrics)$`), ""},
}

func reaching(m *tree) (wrong []string) {
	for what, rule := range reach {
		for pkg := range m.code {
			name := strings.Replace(strings.TrimPrefix(pkg, "internal/"), "cmd/droid-acp", "cmd", 1)
			for use := range m.all(pkg) {
				if rule.use.MatchString(use) && wingOf(pkg) != "testing" && !slices.Contains(strings.Fields(rule.where), name) {
					wrong = append(wrong, pkg+" "+what+": "+use)
				}
			}
		}
	}
	return wrong
}

// startsDroid are the functions that start a droid. It runs what the directory brings that it is
// started in: a session's, where one works there, and else an empty one of its own.
var startsDroid = []string{"CheckRules", "Release", "start", "startProcess"}

var makesCommand = regexp.MustCompile(`\bchild\.Command[({]`)

func droidStarts(m *tree) (found []string, wrong []string) {
	for _, pkg := range []string{"internal/droid", "internal/droid/login"} {
		for _, file := range m.code[pkg] {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !makesCommand.MatchString(m.text(d)) {
					continue
				}
				found = append(found, f.Name.Name)
				if !strings.Contains(m.text(d), "files.MakeEmptyDir(") {
					wrong = append(wrong, pkg+" "+f.Name.Name+" starts a droid, and not in a directory of its own")
				}
			}
		}
	}
	slices.Sort(found)
	return found, wrong
}

func TestHouse(t *testing.T) {
	m := readModule(t)
	require.Empty(t, wrongImports(m))
	require.Empty(t, impurities(m))
	require.Empty(t, reaching(m))
	found, wrong := droidStarts(m)
	require.Empty(t, wrong)
	require.Equal(t, startsDroid, found)
	packages := slices.Collect(maps.Keys(m.code))
	for _, named := range slices.Concat(pure, impure) {
		require.True(t, slices.ContainsFunc(packages, func(pkg string) bool { return strings.HasPrefix(pkg+"/", named+"/") }), "%s is gone", named)
	}
	for _, rule := range reach {
		for name := range strings.FieldsSeq(rule.where) {
			require.Contains(t, packages, strings.Replace("internal/"+name, "internal/cmd", "cmd/droid-acp", 1), "it is gone")
		}
	}
}

// TestSabotage breaks each rule once in invented code; the same is allowed to a test.
func TestSabotage(t *testing.T) {
	droids := func(m *tree) []string { _, wrong := droidStarts(m); return wrong }
	for _, tc := range []struct {
		check     func(*tree) []string
		pkg, code string
	}{
		{wrongImports, "internal/cellar", ""},
		{wrongImports, "internal/droid/login", `import _ "droid-acp/internal/acp/wire"`},
		{wrongImports, "internal/acp/wire", `import _ "droid-acp/internal/droid"`},
		{wrongImports, "internal/remote/via", `import _ "droid-acp/internal/droid/stream"`},
		{wrongImports, "internal/cli/smoke", `import _ "droid-acp/internal/testing/fakedroid"`},
		{impurities, "internal/adapter/turns", "func f() { go f() }"},
		{impurities, "internal/show", "import \"time\"\nvar f = func() any { return time.Now() }"},
		{impurities, "internal/quirks", `import _ "context"`},
		{impurities, "internal/show", `import _ "os/exec"`},
		{impurities, "internal/text/paths", `import _ "net/http"`},
		{impurities, "internal/show", "var c chan int"},
		{impurities, "internal/show", "func f() { select {} }"},
		{impurities, "internal/quirks", "import \"sync\"\nvar m sync.Mutex"},
		{impurities, "internal/quirks", `import _ "sync/atomic"`},
		{impurities, "internal/show", `import _ "droid-acp/internal/sys/files"`},
		{reaching, "internal/droid/login", `import _ "net/http"`},
		{reaching, "internal/droid/hooks", "import \"net\"\nvar _, _ = net.Dial(\"tcp\", \"\")"},
		{reaching, "internal/sys/child", "import \"syscall\"\nvar _, _ = syscall.Socket(0, 0, 0)"},
		{reaching, "internal/adapter", "import \"os\"\nvar read = os.ReadFile"},
		{reaching, "internal/cli/doctor", `import _ "os/exec"`},
		{reaching, "internal/cli/doctor", "import \"os\"\nvar _ = os.StartProcess"},
		{reaching, "internal/show/export", `import _ "github.com/yuin/goldmark/extension"`},
		{droids, "internal/droid", "import \"droid-acp/internal/sys/child\"\nfunc f() { _ = child.Command{} }"},
	} {
		text := "package a\n" + tc.code + "\n"
		require.NotEmpty(t, tc.check(parse(t, map[string]string{tc.pkg + "/a.go": text})), text)
		require.Empty(t, tc.check(parse(t, map[string]string{tc.pkg + "/a_test.go": text})), text)
	}
}
