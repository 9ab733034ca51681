package archtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSabotage breaks each rule once in invented code, and the tests notice.
func TestSabotage(t *testing.T) {
	imports := func(m *tree) []string { return wrongImports(m) }
	purity := func(m *tree) []string { return impurities(m) }
	programs := func(m *tree) []string { return startedBeside(m) }
	globals := func(m *tree) []string { return changedGlobals(m) }
	for name, tc := range map[string]struct {
		check func(*tree) []string
		file  string
		text  string
	}{
		"a door that is none":     {imports, "internal/adapter/turns/a.go", "package turns\nimport _ \"droid-acp/internal/quirks\"\n"},
		"a room without a row":    {withoutRow, "internal/cellar/a.go", "package cellar\n"},
		"a way around":            {imports, "internal/quirks/a.go", "package quirks\nimport _ \"droid-acp/internal/droid\"\n"},
		"a goroutine":             {purity, "internal/adapter/turns/a.go", "package turns\nfunc f() { go f() }\n"},
		"a clock":                 {purity, "internal/show/a.go", "package show\nimport \"time\"\nvar f = func() any { return time.Now() }\n"},
		"a timer":                 {purity, "internal/adapter/turns/a.go", "package turns\nimport \"time\"\nfunc f() { time.AfterFunc(0, nil) }\n"},
		"a context":               {purity, "internal/quirks/a.go", "package quirks\nimport _ \"context\"\n"},
		"a file":                  {purity, "internal/show/a.go", "package show\nimport _ \"os\"\n"},
		"a process":               {purity, "internal/show/a.go", "package show\nimport _ \"os/exec\"\n"},
		"the network":             {purity, "internal/adapter/internal/prompt/a.go", "package prompt\nimport _ \"net/http\"\n"},
		"a channel":               {purity, "internal/show/a.go", "package show\nvar c chan int\n"},
		"a select":                {purity, "internal/show/a.go", "package show\nfunc f() { select {} }\n"},
		"a lock":                  {purity, "internal/quirks/a.go", "package quirks\nimport \"sync\"\nvar m sync.Mutex\n"},
		"an atomic":               {purity, "internal/quirks/a.go", "package quirks\nimport _ \"sync/atomic\"\n"},
		"a connection":            {networked, "internal/droid/login/a.go", "package login\nimport _ \"net/http\"\n"},
		"a connection of hooks":   {networked, "internal/droid/hooks/a.go", "package hooks\nimport \"net\"\nvar _, _ = net.Dial(\"tcp\", \"\")\n"},
		"a connection by hand":    {networked, "internal/sys/child/a.go", "package child\nimport \"syscall\"\nvar _, _ = syscall.Socket(0, 0, 0)\n"},
		"a way to the disk":       {diskCalls, "internal/adapter/a.go", "package adapter\nimport \"os\"\nvar read = os.ReadFile\n"},
		"a program":               {programs, "internal/cli/doctor/a.go", "package doctor\nimport \"os/exec\"\nvar _ = exec.Command\n"},
		"a program by the system": {programs, "internal/cli/doctor/a.go", "package doctor\nimport \"os\"\nvar _ = os.StartProcess\n"},
		"a variable of all":       {globals, "internal/show/a.go", "package show\nvar n int\nfunc f() { n = 1 }\n"},
		"a table that is filled":  {globals, "internal/show/a.go", "package show\nvar m = map[int]int{}\nfunc f() { m[1] = 1 }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, tc.check(parse(t, map[string]string{tc.file: tc.text})))
			inTest := strings.TrimSuffix(tc.file, ".go") + "_test.go"
			require.Empty(t, tc.check(parse(t, map[string]string{inTest: tc.text})), "tests may")
		})
	}
}
