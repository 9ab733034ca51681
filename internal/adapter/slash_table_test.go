package adapter

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/testing/fakedroid"
)

// A command does what it does by exported methods of the session, which requests of editors and programs may call as well.
func TestCommandsCallExportedMethods(t *testing.T) {
	files, err := filepath.Glob("slash_*.go")
	require.NoError(t, err)
	checked := 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if of, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := of.X.(*ast.Ident); ok && x.Name == "s" {
					checked++
					require.True(t, of.Sel.IsExported(), "%v: s.%s", fset.Position(of.Pos()), of.Sel.Name)
				}
			}
			return true
		})
	}
	require.Greater(t, checked, 25)
}

// The table has every command once, and a page names each.
func TestEveryCommandHasOneRow(t *testing.T) {
	page, err := os.ReadFile("../../docs/features.md")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, c := range slashCommands() {
		require.False(t, names[c.Name], c.Name)
		require.NotEmpty(t, c.Description, c.Name)
		require.NotNil(t, c.Run, c.Name)
		require.True(t, regexp.MustCompile("`/"+c.Name+"[` ]").Match(page), "%s in docs/features.md", c.Name)
		names[c.Name] = true
	}
	require.True(t, names["shell"])
	for _, c := range New(Config{Log: zap.NewNop()}).ownCommands() {
		require.NotEqual(t, "shell", c.Name, "the configuration does not allow it")
	}
}

// What a command does not understand it refuses, and says what it takes.
func TestCommandsRefuseWhatTheyDoNotUnderstand(t *testing.T) {
	const takesNothing = "It takes nothing."
	refused := map[string]map[string]string{ // by the arguments, what the answer says
		"compact":    nil, // any text is what they take
		"export":     nil,
		"rename":     {"": "Give a title"},
		"shell":      {"": "Give a command"},
		"model":      {"best": "There is no model “best”. `/model` lists them."},
		"spec-model": {"best": "There is no spec mode model “best”"}, "follow-up": {"wait": "There is no follow-up “wait”"},
		"mode":        {"yolo": "There is no mode “yolo”", "auto-low now": "`/mode` lists them"},
		"effort":      {"much": "This model has no reasoning effort to choose."},
		"fork":        {"before": "has no conversation before", "before 2": "“before 2”. It takes: [before | ID].", "else": "`/sessions` lists them"},
		"rewind":      {"1 file": "“1 file”. It takes: [N [files]].", "1 files now": "It takes: [N", "one": "It takes: [N", "-1": "It takes: [N", "99": "from 1 to 1"},
		"permissions": {"why": "It takes: why COMMAND", "all": "It takes: why COMMAND", "forget no such entry": "There is no such entry"},
		"background":  {"stop": "It takes: stop NUMBER", "stop all": "It takes: stop NUMBER", "stop 7": "has the number 7"},
		"mcp":         {"logn x": "It takes: login, logout, enable", "login": "It takes: login, logout, enable", "x": "It takes: login, logout, enable"},
		"skills":      {"x": "It takes: enable or disable", "disable": "It takes: enable or disable", "disable none": "list_skills"},
		"trust":       {"yse": "“yse”. It takes: yes or no", "yes please": "It takes: yes or no"},
		"report":      {"/": "The report was not written"},
		"status":      {"all": "“all”. " + takesNothing},
		"help":        {"rewind": takesNothing},
		"login":       {"page fails": takesNothing},
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := begin(t, f.start)
		e.inside(func(s *Session) { s.deps.cfg.Shell = true })
		require.Equal(t, "end_turn", e.run("hello"))
		for _, c := range slashCommands() {
			refuses, has := refused[c.Name]
			switch {
			case has:
			case c.Form == "":
				refuses = map[string]string{"all": takesNothing}
			case c.Kind == turns.Setting:
				refuses = map[string]string{"no such value": "There is no "}
			default:
				require.Fail(t, "what does "+c.Name+" refuse?")
			}
			for args, says := range refuses {
				before := len(e.updates())
				require.Equal(t, "end_turn", e.run("/"+c.Name+" "+args))
				require.Contains(t, strings.Join(e.updates()[before:], "\n"), says, c.Name+" "+args)
			}
		}
		require.Empty(t, f.loaded, "droid made no session")
	})
}
