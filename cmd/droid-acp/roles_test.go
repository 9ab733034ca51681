package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter"
	"droid-acp/internal/remote/serve"
)

// methodRoles are all methods of an agent, each with the limited roles that may call it. Each client may call initialize once, whatever
// its role: serve has a test of that.
var methodRoles = map[string]string{
	"initialize":                  "",
	"authenticate":                "",
	"auth/status":                 "",
	"logout":                      "",
	"session/new":                 "",
	"session/load":                "watch answer prompt",
	"session/resume":              "watch answer prompt",
	"session/fork":                "",
	"session/list":                "watch answer prompt",
	"session/status":              "watch answer prompt",
	"session/archive":             "",
	"session/unarchive":           "",
	"session/close":               "watch answer prompt",
	"session/delete":              "",
	"session/prompt":              "prompt",
	"session/cancel":              "answer prompt",
	"session/set_mode":            "",
	"session/set_model":           "",
	"session/set_title":           "",
	"session/set_config_option":   "",
	"session/options":             "",
	"_session/steering":           "prompt",
	"_session/async_task/stop":    "",
	"_session/archive":            "",
	"_session/unarchive":          "",
	"_session/rename":             "",
	"_session/batch_get":          "",
	"_session/list/subscribe":     "",
	"_session/list/unsubscribe":   "",
	"_droid/state":                "watch answer prompt",
	"_droid/stats":                "watch answer prompt",
	"_droid/messages":             "watch answer prompt",
	"_droid/last_assistant_text":  "watch answer prompt",
	"_droid/rewind_points":        "watch answer prompt",
	"_droid/rewind":               "",
	"_droid/commands":             "watch answer prompt",
	"_droid/models":               "watch answer prompt",
	"_droid/set_auto_compaction":  "",
	"_droid/export":               "",
	"_droid/search":               "", // it starts a process, and finds texts of all sessions
	"_droid/report":               "",
	"providers/list":              "",
	"providers/set":               "",
	"providers/disable":           "",
	"Session/Prompt":              "",
	"terminal/create":             "",
	"fs/write_text_file":          "",
	"session/request_permission":  "",
	"_droid-acp/hello":            "",
	"_droid/of_a_version_to_come": "",
}

// Each method of the agent is decided for each role, and a method that is in no table needs the role full.
func TestRolesOfMethods(t *testing.T) {
	for _, method := range adapter.MethodNames() {
		require.Contains(t, methodRoles, method, "decide which roles may call it: serve.limitedMethods or relay.Agent.ReadMethods, and docs/operating.md")
	}
	o := serve.Options{Agent: thisAgent()}
	for method, may := range methodRoles {
		for _, name := range []string{"watch", "answer", "prompt"} {
			role, ok := serve.ParseRole(name)
			require.True(t, ok)
			require.Equal(t, strings.Contains(may, name), o.MayCall(role, method), "%s: %s", name, method)
		}
		require.True(t, o.MayCall(serve.Full, method))
		require.False(t, o.MayCall(0, method))
	}
}
