package trust

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/projectconfig"
)

var update = flag.Bool("update", false, "write testdata/projects.txt")

// projects are such as people have. What begins with "#!" and what ends in ".md" has the mode of a program, as all files
// have it on NTFS.
var projects = []struct {
	name  string
	files map[string]string
}{
	{"node with .vscode", map[string]string{
		"package.json": `{"scripts":{"test":"vitest"}}`, ".npmrc": "x", ".husky/pre-commit": "#!/bin/sh\n",
		".vscode/settings.json": `{}`, ".vscode/tasks.json": `{"tasks":[{"command":"x"}]}`, ".vscode/mcp.json": `{"servers":{"x":{"command":"x"}}}`,
	}},
	{"python with .claude and .envrc", map[string]string{
		"pyproject.toml": "x", ".envrc": "export X=1", ".mcp.json": `{"mcpServers":{"x":{"command":"x"}}}`, "CLAUDE.md": "x",
		".claude/settings.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`, ".claude/commands/x.md": "x",
	}},
	{"rust with .agents", map[string]string{
		"Cargo.toml": "x", ".cargo/config.toml": "x", ".agents/skills/release/SKILL.md": "---\nname: x\n---\n", ".agents/commands/review.md": "Review.", "AGENTS.md": "x",
	}},
	{".factory of texts", map[string]string{
		".factory/AGENTS.md": "x", ".factory/droids/reviewer.md": "x", ".factory/skills/x/SKILL.md": "x", ".factory/commands/review.md": "Review.",
		".factory/docs/x.md": "x", ".factory/specs/x.md": "x", ".factory/settings.json": `{"model":"claude-opus-4-7"}`,
	}},
	{"a team's .factory", map[string]string{
		".factory/mcp.json": `{"mcpServers":{"linear":{"type":"http","url":"https://mcp.linear.app/mcp"},"db":{"command":"docker","args":["run","-i","--rm","mcp/postgres","postgresql://localhost/app"]},
			"playwright":{"command":"npx","args":["@playwright/mcp@latest"]}}}`,
		".factory/settings.json": `{"commandAllowlist":["npm test","npm run lint","npm run build","git diff"],"hooks":{
			"PostToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":".factory/hooks/format.sh"}]}],
			"Stop":[{"hooks":[{"type":"command","command":".factory/hooks/notify.sh"}]}],"SessionStart":[{"hooks":[{"type":"command","command":".factory/hooks/notify.sh"}]}]}}`,
		".factory/hooks/format.sh": "#!/bin/sh\n", ".factory/hooks/notify.sh": "#!/bin/sh\n",
		".factory/commands/deploy.sh": "#!/bin/sh\n", ".factory/commands/review.md": "Review.",
	}},
	{"Bun with artifacts", map[string]string{
		"package.json": "{}", "bunfig.toml": "[test]\npreload = [\"./happydom.ts\"]\n", ".factory/artifacts/tool-outputs/x.log": "x",
	}},
	{"Bun with an MCP server", map[string]string{
		"bunfig.toml": "[install]\nexact = true\n", ".factory/mcp.json": `{"mcpServers":{"db":{"command":"bunx","args":["db-mcp"]}}}`,
	}},
	{"what droid itself writes", map[string]string{
		"AGENTS.md": "x", ".factory/init.sh": "#!/bin/sh\n", ".factory/services.yaml": "x", ".factory/library/architecture.md": "x", ".factory/skills/worker/SKILL.md": "x",
		".factory/validation/a/synthesis.json": "{}", ".factory/worktree-setups/index.yaml": "x", ".factory/automations/daily/HEARTBEAT.md": "x", ".factory/threat-model.md": "x",
	}},
	{"commands with the mode of programs", map[string]string{
		".factory/commands/review.md": "Review.", ".factory/commands/git/commit.md": "Commit.", ".factory/commands/Ship It.sh": "#!/bin/sh\n",
	}},
	{"more than a screen", map[string]string{
		".factory/hooks.json": func() string {
			var hooks []string
			for i := range 14 {
				hooks = append(hooks, fmt.Sprintf(`{"type":"command","command":"./hook-%d %s"}`, i, strings.Repeat("x", 40*i)))
			}
			return `{"Stop":[` + strings.Join(hooks, ",") + `]}`
		}(),
	}},
}

// What users of these projects read, with droid 0.225 and with 0.99. It fits on a screen.
func TestWhatUsersOfProjectsRead(t *testing.T) {
	var b strings.Builder
	for _, tc := range projects {
		k, dir := newKeeper(t, Ask), project(t, "")
		for name, text := range tc.files {
			path, mode := filepath.Join(dir, filepath.FromSlash(name)), os.FileMode(0o644)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			if strings.HasPrefix(text, "#!") || filepath.Ext(name) == ".md" {
				mode = 0o755
			}
			require.NoError(t, os.WriteFile(path, []byte(text), mode))
		}
		read := func(takes func(projectconfig.Layer) projectconfig.Layer) string {
			p := k.CheckFor(dir, takes)
			if !p.Asks {
				return "nothing\n"
			}
			title, text := p.Question()
			if !p.Fits() {
				title, text = "nobody is asked", p.Screen("`/trust`")
			}
			rows := 0
			for line := range strings.Lines(text) {
				rows += max(1, (utf8.RuneCountInString(line)+screenColumns-1)/screenColumns)
			}
			require.LessOrEqual(t, rows, screenRows+5, tc.name)
			return strings.ReplaceAll(p.ExcludedText("…")+"\n# "+title+"\n"+text, dir, "/project")
		}
		now, old := read(func(l projectconfig.Layer) projectconfig.Layer {
			return l.Except(projectconfig.UnknownKey, projectconfig.Preload)
		}), read(nil)
		fmt.Fprintf(&b, "== %s\n%s", tc.name, now)
		if old != now {
			fmt.Fprintf(&b, "-- with droid 0.99\n%s", old)
		}
	}
	golden := filepath.Join("testdata", "projects.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test ./internal/workspace/trust -update writes it")
}
