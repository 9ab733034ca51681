package archtest

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/protocol"
)

// asked is what is asked of a client outside of internal/protocol, which knows clients, and of
// internal/show, which alone asks how they show what they are sent.
var asked = map[string][]string{
	"internal/adapter/initialize.go":    {"Files", "FilesOnDisk"},
	"internal/adapter/slash_status.go":  {"Files"},
	"internal/adapter/editorfiles.go":   {"MindsTimes"},
	"internal/adapter/session.go":       {"BooleanOptions", "Login", "NarrowOptions"},
	"internal/adapter/turn_events.go":   {"Login"},
	"internal/adapter/slash_compact.go": {"Login"},
	"internal/adapter/filecalls.go":     {"Files", "TellsUnsaved"},
	"internal/adapter/store_lock.go":    {"PromptsAlone"},
	"internal/adapter/trust.go":         {"PromptsAlone"},
	"internal/adapter/turn_actions.go":  {"StoppedAgain"},
	"internal/accounts/accounts.go":     {"Raw"},
	"internal/accounts/editor.go":       {"Forms", "URLs"},
	"internal/accounts/ways.go":         {"TerminalLogin", "TerminalLoginMeta"},
	"internal/problem/client.go":        {"ErrorDetails", "ErrorMessage", "PromptDetails"},
	"internal/adapter/prompts.go":       {"NoPromptErrors"},
	"internal/adapter/mcplogin.go":      {"URLs"},
}

// TestClientsAreAskedInOneRoom: who asks something more of a client gives a reason to add it
// here, or asks internal/show.
func TestClientsAreAskedInOneRoom(t *testing.T) {
	m, known := readModule(t), reflect.TypeFor[protocol.ClientCapabilities]()
	found := make(map[string][]string)
	for room := range m.rooms {
		for _, s := range m.code(room) {
			ast.Inspect(s.file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if ok && room != "internal/protocol" && room != "internal/show" && strings.HasSuffix(strings.ToLower(types.ExprString(sel.X)), "client") {
					if _, field := known.FieldByName(sel.Sel.Name); field && !slices.Contains(found[s.name], sel.Sel.Name) {
						found[s.name] = append(found[s.name], sel.Sel.Name)
					}
				}
				return true
			})
			slices.Sort(found[s.name])
		}
	}
	require.Equal(t, asked, found)
}
