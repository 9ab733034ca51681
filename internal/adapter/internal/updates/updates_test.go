package updates

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/render"
)

// listener is an editor that records its messages.
type listener struct{ heard []string }

func (l *listener) Text(f wire.TextFrame, text string) {
	quoted, _ := json.Marshal(text) // strings always encode
	l.heard = append(l.heard, f.Before+string(quoted)+f.After)
}

func (l *listener) Notify(method string, params any) error {
	raw, err := json.Marshal(params)
	l.heard = append(l.heard, method+" "+string(raw))
	return err
}

func (l *listener) Full() <-chan struct{} { return make(chan struct{}) }

func (l *listener) Overfull() <-chan struct{} { return make(chan struct{}) }

func (l *listener) Ask(string, any, func(json.RawMessage, error)) *wire.Pending { return nil }

// take returns the messages since the previous take.
func (l *listener) take() []string {
	heard := l.heard
	l.heard = nil
	return heard
}

// openWay is the way to an editor that knows the session.
func openWay(l *listener) *Sender {
	w := New(l, nil, zap.NewNop())
	w.Release()
	return w
}

func mode(id string) protocol.Update {
	return protocol.CurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeID: id}
}

func toldMode(id string) []string {
	return []string{`session/update {"sessionId":"s","update":{"sessionUpdate":"current_mode_update","currentModeId":"` + id + `"}}`}
}

// TestStateIsToldWhenItDiffers checks that state is sent once, in a response or an update, and again to an editor that starts over. Each
// kind is compared separately.
func TestStateIsToldWhenItDiffers(t *testing.T) {
	l := new(listener)
	w := openWay(l)
	w.SetID("s")
	w.Send(mode("spec"))
	require.Equal(t, toldMode("spec"), l.take())
	w.Send(mode("spec"))
	require.Empty(t, l.take())
	w.Send(protocol.SessionInfoUpdate{SessionUpdate: "session_info_update", Title: "spec"})
	require.Len(t, l.take(), 1)
	w.MarkSent(mode("auto-low"), protocol.UsageUpdate{SessionUpdate: "usage_update", Used: 1, Size: 2})
	w.Send(mode("auto-low"))
	w.Send(protocol.UsageUpdate{SessionUpdate: "usage_update", Used: 1, Size: 2})
	require.Empty(t, l.take())
	w.Send(mode("spec"))
	require.Equal(t, toldMode("spec"), l.take())

	require.False(t, w.Opened())
	w.MarkOpened()
	w.Reset()
	require.True(t, w.Opened())
	w.Send(mode("spec"))
	require.Equal(t, toldMode("spec"), l.take())
}

// TestWhatHappensIsToldEachTime checks that calls and texts are sent each time, since they are not state.
func TestWhatHappensIsToldEachTime(t *testing.T) {
	l := new(listener)
	w := openWay(l)
	w.SetID("s")
	for range 2 {
		w.Send(protocol.ToolCall{SessionUpdate: "tool_call", ToolCallID: "t"})
		w.Send(render.Text{MessageID: "m", Text: "x"})
		require.Equal(t, []string{
			`session/update {"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t"}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}}}`,
		}, l.take())
	}
}

// TestTextsNameTheirMessage, thought or not, and the session as the editor uses it then.
func TestTextsNameTheirMessage(t *testing.T) {
	l := new(listener)
	w := openWay(l)
	w.SetID("s")
	for _, tc := range []struct {
		session string
		text    render.Text
		kind    string
	}{
		{"s", render.Text{MessageID: "m", Text: "x"}, "agent_message_chunk"},
		{"s", render.Text{MessageID: "m", Text: "x", Thought: true}, "agent_thought_chunk"},
		{"s", render.Text{MessageID: "n", Text: "x", Thought: true}, "agent_thought_chunk"},
		{`"t"`, render.Text{MessageID: "n", Text: "x", Thought: true}, "agent_thought_chunk"},
		{`"t"`, render.Text{MessageID: "o", Text: "x", Notice: true}, "agent_message_chunk"},
	} {
		w.SetID(tc.session)
		w.Send(tc.text)
		var line struct {
			Params struct {
				SessionID string
				Update    struct {
					SessionUpdate, MessageID string
					Meta                     json.RawMessage `json:"_meta"`
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(l.take()[0]), &line))
		require.Equal(t, tc.session, line.Params.SessionID)
		require.Equal(t, tc.kind, line.Params.Update.SessionUpdate)
		require.Equal(t, tc.text.MessageID, line.Params.Update.MessageID)
		if tc.text.Notice {
			require.JSONEq(t, `{"droid-acp":{"notice":true}}`, string(line.Params.Update.Meta))
		} else {
			require.Empty(t, line.Params.Update.Meta)
		}
	}
}

// TestNoticesWaitOnce for the next prompt.
func TestNoticesWaitOnce(t *testing.T) {
	var w Sender
	w.AddNotices("one", "two", "one")
	w.AddNotices("two")
	require.Equal(t, []string{"one", "two"}, w.TakeNotices())
	require.Empty(t, w.TakeNotices())
	w.AddNotices("one")
	require.Equal(t, []string{"one"}, w.TakeNotices(), "it happened again")
}

// TestNoEditor checks that updates without an editor are dropped, and that there is always room for them.
func TestNoEditor(t *testing.T) {
	var w Sender
	require.Nil(t, w.Full())
	w.Send(render.Text{Text: "x"})
	w.Send(mode("spec"))
	w.Send(protocol.ToolCall{})
	require.NotNil(t, (&Sender{editor: new(listener)}).Full())
}

// Words of droid's that wait are put together by message, and bounded.
func TestKeepText(t *testing.T) {
	var w Sender
	for _, text := range []render.Text{{MessageID: "a", Text: "one "}, {MessageID: "a", Text: "two"}, {MessageID: "b", Text: "three"}} {
		w.KeepText(text)
	}
	kept, cut := w.TakeTexts()
	require.Equal(t, []render.Text{{MessageID: "a", Text: "one two"}, {MessageID: "b", Text: "three"}}, kept)
	require.False(t, cut)
	kept, _ = w.TakeTexts()
	require.Empty(t, kept)

	w.KeepText(render.Text{MessageID: "a", Text: "one"})
	w.KeepText(render.Text{MessageID: "b", Text: strings.Repeat("é", mostUnheard)})
	w.KeepText(render.Text{MessageID: "b", Text: "x"})
	kept, cut = w.TakeTexts()
	require.True(t, cut)
	require.Len(t, kept, 1)
	require.LessOrEqual(t, len(kept[0].Text), mostUnheard)
	require.True(t, utf8.ValidString(kept[0].Text))
	require.True(t, strings.HasSuffix(kept[0].Text, "éx"))

	w.KeepText(render.Text{MessageID: "a", Text: "one"})
	kept, cut = w.TakeTexts()
	require.Len(t, kept, 1)
	require.False(t, cut, "what was left out was told before")

	for _, lines := range []int{mostUnheard / 7, 1, 1, 1} {
		w.KeepText(render.Text{MessageID: "a", Text: strings.Repeat("a line\n", lines)})
	}
	kept, _ = w.TakeTexts()
	require.True(t, strings.HasPrefix(kept[0].Text, "a line\n"), "what is left begins with a line")
	require.Greater(t, len(kept[0].Text), mostUnheard-100)

	w.KeepText(render.Text{MessageID: "a", Text: strings.Repeat("x", mostUnheard+1)})
	w.Reset()
	kept, cut = w.TakeTexts()
	require.Empty(t, kept, "a load shows it")
	require.False(t, cut)
}

// Updates during Hold are sent in order by Release; of the session's state, only what differs then.
func TestHold(t *testing.T) {
	l := new(listener)
	w := New(l, nil, zap.NewNop())
	w.SetID("old")
	w.Send(render.Text{MessageID: "a", Text: "one"})
	w.Send(mode("spec"))
	w.Send(mode("normal"))
	require.Empty(t, l.take())
	w.MarkSent(mode("spec")) // by the response
	w.SetID("s")
	w.Release()
	heard := l.take()
	require.Len(t, heard, 2)
	require.Contains(t, heard[0], `"one"`)
	require.Equal(t, toldMode("normal"), heard[1:])
	w.Hold()
	w.Send(mode("spec"))
	require.Empty(t, l.take())
	w.Release()
	require.Equal(t, toldMode("spec"), l.take())
	w.Release()
	require.Empty(t, l.take())
}
