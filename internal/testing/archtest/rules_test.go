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

// areas are the directories in internal, and cmd, each with the areas it may import besides itself. Areas about droid do not depend on ACP,
// nor those about ACP on droid. No area imports internal/testing, which is for tests.
var areas = map[string]string{
	"cmd":       "adapter cli remote workspace droid acp jsonrpc sys text",
	"adapter":   "render quirks workspace droid acp jsonrpc sys text",
	"render":    "quirks droid acp sys text",
	"quirks":    "droid",
	"workspace": "droid sys text",
	"cli":       "quirks droid jsonrpc sys text",
	"remote":    "acp jsonrpc sys text",
	"droid":     "jsonrpc sys text",
	"acp":       "jsonrpc text",
	"jsonrpc":   "sys text",
	"sys":       "",
	"text":      "",
	"testing":   "droid jsonrpc sys text",
}

// areaOf returns the area of a package of the module.
func areaOf(pkg string) string {
	area, _, _ := strings.Cut(strings.TrimPrefix(pkg, "internal/"), "/")
	return area
}

// wrongImports returns the imports between areas that the table does not allow.
func wrongImports(m *tree) (wrong []string) {
	for pkg := range m.code {
		from := areaOf(pkg)
		may, known := areas[from]
		if !known {
			wrong = append(wrong, pkg+" is in no area")
		}
		for use := range m.all(pkg) {
			other, own := strings.CutPrefix(use, module+"/internal/")
			if to := areaOf(other); own && !strings.Contains(other, ".") && to != from && !slices.Contains(strings.Fields(may), to) {
				wrong = append(wrong, pkg+" imports internal/"+other)
			}
		}
	}
	return wrong
}

// pure are packages, with all below them, that have no side effects, take no locks and never wait; impure are the
// exceptions below them.
var (
	pure   = strings.Fields("quirks render text droid/stream acp/protocol adapter/turns adapter/options adapter/mcp adapter/internal/prompt")
	impure = []string{"render/export"}
)

func isPure(pkg string) bool { return isBelow(pkg, pure) && !isBelow(pkg, impure) }

// isBelow reports whether a package is one of these directories or below one: cmd, and others by their paths in internal.
func isBelow(pkg string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(strings.TrimPrefix(pkg, "internal/")+"/", dir+"/") })
}

// sideEffects matches what a pure package may not import or use.
var sideEffects = regexp.MustCompile(`^(go|chan|select|context|os|net|net/[^u].*|syscall|log|runtime|embed|plugin|io/(fs|ioutil)|(math|crypto)/rand|sync/atomic` +
	`|(github.com/google/uuid|go.uber.org/zap|golang.org/x/sys)\b.*|(os|log|runtime)/.*` +
	`|sync\.([^O].*|Once|OnceFunc|OnceValues)|time\.(Now|Since|Until|After|AfterFunc|Sleep|Tick|Ticker|Timer|NewTimer|NewTicker))$`)

func impurities(m *tree) (found []string) {
	for pkg := range m.code {
		for use := range m.all(pkg) {
			own, isOwn := strings.CutPrefix(use, module+"/")
			if isPure(pkg) && (sideEffects.MatchString(use) || isOwn && !strings.Contains(own, ".") && !isPure(own)) {
				found = append(found, pkg+": "+use)
			}
		}
	}
	return found
}

// restricted are imports and uses that only some packages, with all below them, may have: "cmd", and others below
// internal. The rule does not apply to internal/testing.
var restricted = map[string]struct {
	use   *regexp.Regexp
	where string
}{
	// internal/sys/subprocess ends what it started, and bounds each wait for a program.
	"starts programs": {regexp.MustCompile(`^os/exec$|^(os|syscall|golang\.org/x/sys/\w+)\.(StartProcess|ForkExec|Exec|CreateProcess)$`), "sys/subprocess"},
	// internal/sys/files bounds reads and writes files whole. The others say in place why they do not use it.
	"opens files": {regexp.MustCompile(`^os\.(Create|CreateTemp|Link|Open|OpenFile|ReadFile|Rename|WriteFile)$|^io\.ReadAll$|/unix\.Flock$`),
		"sys cmd cli/doctor droid/login droid/store remote workspace/editorfs"},
	// SECURITY.md: droid-acp opens no connection to the network but to a gateway that a client sets, and is reached from there by
	// serve --listen alone.
	"uses networks": {regexp.MustCompile(`^(net|net/[^u].*|crypto/tls|golang\.org/x/net\b.*|github\.com/coder/websocket)$|\.Socket$`), "cmd droid/gateway droid/hooks remote"},
	// The others of those use Unix sockets.
	"connects": {regexp.MustCompile(`^connect$`), "cmd remote/transport"},
	// These parse tables when the program or a hook starts: 5, 1, 0.3 and 0.1 ms.
	"is slow to start": {regexp.MustCompile(`^(github\.com/(alecthomas/chroma/v2/lexers|yuin/goldmark/extension|spf13/cobra/doc)|runtime/metrics)$`), ""},
}

func restrictedUses(m *tree) (wrong []string) {
	for what, rule := range restricted {
		for pkg := range m.code {
			allowed := isBelow(pkg, append(strings.Fields(rule.where), "testing"))
			for use := range m.all(pkg) {
				if !allowed && rule.use.MatchString(use) {
					wrong = append(wrong, pkg+" "+what+": "+use)
				}
			}
		}
	}
	return wrong
}

var makesCommand = regexp.MustCompile(`\bsubprocess\.Command[({]`)

// droidStarts returns the functions that start a droid, and what is wrong with them. droid runs what its directory contains, so it must
// start in an empty one unless it is for a session.
func droidStarts(m *tree) (found []string, wrong []string) {
	for pkg, files := range m.code {
		if !isBelow(pkg, []string{"droid"}) || isBelow(pkg, []string{"droid/install"}) { // which starts npm
			continue
		}
		for _, file := range files {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !makesCommand.MatchString(m.text(d)) {
					continue
				}
				found = append(found, pkg+" "+f.Name.Name)
				if !strings.Contains(m.text(d), "files.MakeEmptyDir(") {
					wrong = append(wrong, pkg+" "+f.Name.Name+" starts a droid, and not in a directory of its own")
				}
			}
		}
	}
	return found, wrong
}

func TestRules(t *testing.T) {
	m := readModule(t)
	require.Empty(t, wrongImports(m))
	require.Empty(t, impurities(m))
	require.Empty(t, restrictedUses(m))
	found, wrong := droidStarts(m)
	require.Empty(t, wrong)
	require.NotEmpty(t, found)
	named := slices.Concat(pure, impure)
	for _, rule := range restricted {
		named = append(named, strings.Fields(rule.where)...)
	}
	packages := slices.Collect(maps.Keys(m.code))
	for _, dir := range named {
		require.True(t, slices.ContainsFunc(packages, func(pkg string) bool { return isBelow(pkg, []string{dir}) }), "%s does not exist", dir)
	}
}

// TestRulesFindViolations violates each rule in a separate file; a test file may do the same.
func TestRulesFindViolations(t *testing.T) {
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
		{impurities, "internal/render", "import \"time\"\nvar f = func() any { return time.Now() }"},
		{impurities, "internal/quirks", `import _ "context"`},
		{impurities, "internal/render", `import _ "os/exec"`},
		{impurities, "internal/text/paths", `import _ "net/http"`},
		{impurities, "internal/render", "var c chan int"},
		{impurities, "internal/render", "func f() { select {} }"},
		{impurities, "internal/quirks", "import \"sync\"\nvar m sync.Mutex"},
		{impurities, "internal/quirks", `import _ "sync/atomic"`},
		{impurities, "internal/render", `import _ "droid-acp/internal/sys/files"`},
		{restrictedUses, "internal/droid/login", `import _ "net/http"`},
		{restrictedUses, "internal/droid/hooks", "import \"net\"\nvar _, _ = net.Dial(\"tcp\", \"\")"},
		{restrictedUses, "internal/sys/subprocess", "import \"syscall\"\nvar _, _ = syscall.Socket(0, 0, 0)"},
		{restrictedUses, "internal/adapter", "import \"os\"\nvar read = os.ReadFile"},
		{restrictedUses, "internal/cli/doctor", `import _ "os/exec"`},
		{restrictedUses, "internal/cli/doctor", "import \"os\"\nvar _ = os.StartProcess"},
		{restrictedUses, "internal/render/export", `import _ "github.com/yuin/goldmark/extension"`},
		{droids, "internal/droid", "import \"droid-acp/internal/sys/subprocess\"\nfunc f() { _ = subprocess.Command{} }"},
	} {
		text := "package a\n" + tc.code + "\n"
		require.NotEmpty(t, tc.check(parse(t, map[string]string{tc.pkg + "/a.go": text})), text)
		require.Empty(t, tc.check(parse(t, map[string]string{tc.pkg + "/a_test.go": text})), text)
	}
}
