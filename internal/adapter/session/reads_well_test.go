package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
)

// ownWords are the agent's own, in messages whose ids it made; JSON and signs that are not shown are no title.
var (
	ownWords = regexp.MustCompile(`^agent_\w+ \(new id\) (".*")$`)
	noTitle  = regexp.MustCompile(`[{\[]"|^\{\}$|[[:cntrl:]]`)
)

// readsWell checks what an editor is sent of a recording as a reader would: between two prompts or decisions the agent says nothing twice,
// and calls are described by a text, a diff or an output, not in the format of droid and the model.
func readsWell(sent string) error {
	var said []string
	kinds := map[string]string{} // by the ids of calls
	for line := range strings.Lines(sent) {
		line = strings.TrimSpace(line)
		if own := ownWords.FindStringSubmatch(line); own != nil {
			words, err := strconv.Unquote(own[1])
			if err != nil {
				return err
			}
			words = strings.TrimSpace(words)
			for _, before := range said {
				if strings.Contains(before, words) || strings.Contains(words, before) {
					return fmt.Errorf("%q, and %q", before, words)
				}
			}
			said = append(said, words)
			continue
		}
		what, data, _ := strings.Cut(line, "{")
		if what != "update " {
			said = nil // a request, or the end of a turn
		}
		var asked struct{ ToolCall json.RawMessage }
		if data = "{" + data; json.Unmarshal([]byte(data), &asked) == nil && asked.ToolCall != nil {
			data = string(asked.ToolCall)
		}
		var call protocol.ToolCall
		if json.Unmarshal([]byte(data), &call) != nil || call.ToolCallID == "" {
			continue
		}
		if noTitle.MatchString(string(call.Title)) {
			return fmt.Errorf("the title %q", call.Title)
		}
		if call.SessionUpdate == "tool_call" {
			kinds[call.ToolCallID] = string(call.Kind)
		}
		for _, c := range call.Content {
			if c.Content != nil && c.Content.Text != nil && kinds[call.ToolCallID] != "other" {
				text := strings.TrimSpace(*c.Content.Text)
				if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
					return errors.New("the content " + text)
				}
			}
		}
	}
	return nil
}

func TestReadsWellIsStrict(t *testing.T) {
	for _, bad := range []string{
		"agent_message_chunk (new id) \"a\"\nagent_thought_chunk (new id) \"an a\"",
		`update {"sessionUpdate":"tool_call","toolCallId":"a","title":"Do {\"a\":1}"}`,
		`request session/request_permission {"toolCall":{"toolCallId":"a","title":"{}"}}`,
		`update {"sessionUpdate":"tool_call_update","toolCallId":"a","content":[{"type":"content","content":{"type":"text","text":"{\"a\":1}"}}]}`,
	} {
		require.Error(t, readsWell(bad), bad)
	}
}
