package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
)

// TestRewindQuestion checks that everything the user may lose comes first and is named in full, and other files up to a readable number.
func TestRewindQuestion(t *testing.T) {
	v := newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: true, ShowsRequestContent: true}})
	var files []RewoundFile
	for i := range 2 * maxRewoundFiles {
		files = append(files, RewoundFile{Path: fmt.Sprintf("/workspace/same%d", i)})
	}
	for i := range 2 * maxRewoundFiles {
		files = append(files, RewoundFile{Path: fmt.Sprintf("/workspace/changed%d", i), Status: FileChanged})
	}
	files = append(files, RewoundFile{Path: "/workspace/made", Deleted: true, Unsaved: true}, RewoundFile{Path: "/elsewhere/gone", Deleted: true, Status: FileGone})
	text := *v.RewindQuestion(files, false).call.Content[0].Content.Text
	restored, deleted, _ := strings.Cut(text, "\n\nThese files are deleted, as droid created them since:\n\n")
	lines := strings.Split(restored, "\n")
	require.Equal(t, "These files get the text that they had then:", lines[0])
	require.Equal(t, "- `changed0`, **changed by you or another program, too**", lines[2])
	require.Equal(t, "- `changed99`, **changed by you or another program, too**", lines[2*maxRewoundFiles+1])
	require.Equal(t, "- `same0`", lines[2*maxRewoundFiles+2])
	require.Equal(t, fmt.Sprintf("- and %d more", maxRewoundFiles), lines[len(lines)-1])
	require.Equal(t, "- `made`, **with unsaved changes in your editor**\n- `/elsewhere/gone`, which is not there now", deleted)
}

// TestAgentPromptIsReadOnce: a client that draws the content of a call as well as that of the request has it in the
// request alone, and for others as a message before.
func TestAgentPromptIsReadOnce(t *testing.T) {
	for _, in := range []bool{true, false} {
		v := newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: true, ShowsRequestContent: in}})
		q := v.AskTrust("Trust this project?", "- a hook")
		step, _ := q.Next()
		require.Equal(t, "- a hook", string(*step.Choice.ToolCall.Content[0].Content.Text))
		before, err := json.Marshal(q.Before)
		require.NoError(t, err)
		require.Equal(t, !in, strings.Contains(string(before), "- a hook"), "%s", before)
	}
}

// TestOwnOptionsSayYesOrNo checks that an option begins with its decision, and fits in the line that editors have for it.
func TestOwnOptionsSayYesOrNo(t *testing.T) {
	for _, names := range []bool{true, false} {
		v := newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ShowsOptionNames: names, ShowsOptionKindsOnly: !names}})
		for _, q := range []*AgentPrompt{v.AskTrust("Trust this project?", ""), v.CompactQuestion(false), v.RewindQuestion(nil, false)} {
			step, _ := q.Next()
			for _, o := range step.Choice.Options {
				require.Regexp(t, `^(Yes|No)\b.{0,37}$`, string(o.Name))
				require.Equal(t, o.OptionID == q.yesID, strings.HasPrefix(string(o.Name), "Yes"), "%v", o)
			}
		}
	}
}
