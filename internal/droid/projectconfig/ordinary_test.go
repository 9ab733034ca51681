package projectconfig

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Projects as people have them, with nothing to run, bring nothing.
func TestOrdinaryProjects(t *testing.T) {
	const skill, agent = "---\nname: x\ndescription: y\n---\nDo it.\n", "---\nname: x\nmodel: inherit\ntools: [\"Read\"]\n---\nYou review.\n"
	files := []map[string]string{
		{},
		{"AGENTS.md": "Be kind.", "CLAUDE.md": "Be kind."},
		{".factory/AGENTS.md": "Be kind.", ".factory/README.md": "x", ".factory/.gitignore": "settings.local.json\n"},
		{".factory/skills/review/SKILL.md": skill, ".factory/skills/review/scripts/run.sh": "#!/bin/sh\n", ".factory/skills/review/assets/a.json": "{}"},
		{".factory/commands/review.md": "Review $ARGUMENTS", ".factory/commands/git/commit.md": "---\ndescription: x\n---\nCommit."},
		{".factory/droids/reviewer.md": agent, ".factory/droids/README.md": "x"},
		{".factory/docs/guide.md": "x", ".factory/specs/2026-01-02-plan.md": "x", ".factory/memories.md": "x", ".factory/rules/typescript.md": "x"},
		{".factory/hooks/format.sh": "#!/bin/sh\n", ".factory/hooks/guard.py": "#!/usr/bin/env python3\n", ".factory/hooks/README.md": "x"},
		{".factory/library/architecture.md": "x", ".factory/validation/a/review.json": "{}", ".factory/research/notes.txt": "x"},
		{".factory/artifacts/x": "x", ".factory/automations/daily/HEARTBEAT.md": "x", ".factory/worktree-setups/index.yaml": "x", ".factory/video/x.ts": "x"},
		{".factory/init.sh": "#!/bin/sh\n", ".factory/services.yaml": "x", ".factory/validation-state.json": "{}", ".factory/features.json": "{}"},
		{".factory/logs/x.log": "x", ".factory/sessions/x.jsonl": "{}", ".factory/cache/x": "x", ".factory/bin/rg": "#!/bin/sh\n", ".factory/mcp-oauth.json": "{}"},
		{".agents/skills/x/SKILL.md": skill, ".agents/plugins/marketplace.json": "{}", ".agent/workflows/x.md": "x", ".claude/settings.json": `{"hooks":{}}`, ".mcp.json": `{"mcpServers":{"x":{"command":"x"}}}`},
	}
	settings := []string{
		"",
		`{"model":"claude-opus-4-7","reasoningEffort":"high","diffMode":"github","includeCoAuthoredByDroid":true,"enableDroidShield":true}`,
		`// ours
		{"$comment":"x","sessionDefaultSettings":{"model":"m","reasoningEffort":"low","autonomyMode":"normal"},"commandDenylist":["git push"],"commandAllowlist":[]}`,
		`{"ideExtensionPromptedAt":{"vscode":1760502670258},"completionSound":"fx-ack01","soundFocusMode":"always","todoDisplayMode":"pinned","theme":"dark","logoAnimation":"off","cloudSessionSync":false}`,
		`{"hooks":{},"specSaveEnabled":true,"specSaveDir":".factory/specs","showThinkingInMainView":true,"modelFavorites":["a"],"disabledSkills":["x"]}`,
	}
	for i, project := range files {
		for j, text := range settings {
			root := repository(t, project)
			if text != "" {
				write(t, root, map[string]string{".factory/settings.json": text})
			}
			require.Empty(t, Project(root, "/home/me").Items, "%d %d", i, j)
		}
	}
}

// Each of the usual servers can be named, so that the user's own and the editor's still run.
func TestOrdinaryServers(t *testing.T) {
	for _, server := range []string{
		`"linear":{"type":"http","url":"https://mcp.linear.app/mcp"}`,
		`"playwright":{"command":"npx","args":["@playwright/mcp@latest"]}`,
		`"context7":{"type":"stdio","command":"npx","args":["-y","@upstash/context7-mcp"],"disabled":false}`,
		`"chrome-devtools":{"command":"npx","args":["chrome-devtools-mcp@latest"],"disabledTools":["x"]}`,
		`"github":{"type":"http","url":"https://api.githubcopilot.com/mcp/","headers":{"Authorization":"Bearer ${TOKEN}"}}`,
		`"sentry":{"type":"sse","url":"https://mcp.sentry.dev/sse","oauth":{"scopes":["a"]}}`,
		`"postgres":{"command":"docker","args":["run","-i","--rm","mcp/postgres","postgresql://localhost/x"],"timeout":1000}`,
		`"file_system":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","."],"env":{"A":"b"}}`,
		`"nx-mcp":{"command":"uvx","args":["x"]},"off":{"command":"x","disabled":true}`,
		`"mine":{"command":"./tools/mcp.sh"}`,
	} {
		got := Project(repository(t, map[string]string{".factory/mcp.json": fmt.Sprintf(`{"mcpServers":{%s}}`, server)}), "/home/me")
		require.Len(t, got.Items, 1, server)
		require.Equal(t, MCPServer, got.Items[0].Kind)
		require.False(t, got.HidesServers(), server)
		require.False(t, got.HidesHooks())
		require.Empty(t, got.Inseparable())
	}
}
