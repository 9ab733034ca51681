package quirks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestQuirk06_RetryRepeatsText(t *testing.T) {
	first := []stream.Event{delta("a", "one "), delta("a", "two ")}
	t.Run("0.99 says nothing", func(t *testing.T) {
		started(t, v099).push(first...).push(delta("a", "one "), delta("a", "three"), assistant("a", text("one three"))).
			says(`text a "one "`, `text a "two "`, `text a "one "`, `text a "three"`,
				`text a holds from byte 8 of text and 0 of thought: "one three"`)
	})
	t.Run("the repeat is the same text", func(t *testing.T) {
		started(t, v099).push(delta("a", "one "), delta("a", "one "), assistant("a", text("one "))).
			says(`text a "one "`, `text a "one "`, `text a holds from byte 4 of text and 0 of thought: "one "`)
	})
	t.Run("0.215 says llm_retry", func(t *testing.T) {
		started(t, v215).push(first...).push(stream.LLMRetry{Attempt: 1, Reason: "timeout"}, delta("a", "three"), assistant("a", text("three"))).
			says(`text a "one "`, `text a "two "`, "text retracted a", "retrying, attempt 1, timeout", `text a~2 "three"`)
	})
	t.Run("0.225 says both, twice", func(t *testing.T) {
		retry := []stream.Event{stream.LLMRetry{Attempt: 1, Reason: "timeout"}, stream.MessageRetracted{MessageID: "a"}}
		started(t, v225).push(delta("a", "one")).push(retry...).push(delta("a", "two")).push(retry...).
			push(delta("a", "three"), assistant("a", text("three"))).
			says(`text a "one"`, "text retracted a", "retrying, attempt 1, timeout",
				`text a~2 "two"`, "text retracted a~2", "retrying, attempt 1, timeout", `text a~3 "three"`)
	})
	t.Run("retracted alone", func(t *testing.T) {
		started(t, v225).push(stream.MessageRetracted{MessageID: "a"}, delta("a", "one"), stream.MessageRetracted{MessageID: "a"}).
			says(`text a "one"`, "text retracted a").push(assistant("a", text("two"))).says(`text a~2 "two"`)
	})
	t.Run("idle waits for no message that was retracted", func(t *testing.T) {
		const ended = `turn ended, prompt "p1", completed, reason ""`
		started(t, v099).push(delta("a", "one"), stream.MessageRetracted{MessageID: "a"}, idle).
			says(`text a "one"`, "text retracted a", ended)
		started(t, v099).push(delta("a", "one"), delta("b", "two"), stream.MessageRetracted{MessageID: "a"}, idle).
			says(`text a "one"`, `text b "two"`, "text retracted a").push(assistant("b", text("two"))).says(ended)
	})
	t.Run("retracted after its snapshot", func(t *testing.T) {
		started(t, v225).push(assistant("a", text("two")), stream.MessageRetracted{MessageID: "a"}).says(`text a "two"`)
	})
	t.Run("thinking is repeated too", func(t *testing.T) {
		started(t, v099).push(stream.TextDelta{MessageID: "a", Thinking: true, Text: "hm"}, stream.TextDelta{MessageID: "a", Thinking: true, Text: "hm"},
			stream.TextDelta{MessageID: "a", BlockIndex: 1, Text: "ok"}, assistant("a", thinking("hm"), text("ok"))).
			says(`thought a "hm"`, `thought a "hm"`, `text a "ok"`, `text a holds from byte 0 of text and 2 of thought: "ok"`)
	})
	t.Run("thinking and text are repeated", func(t *testing.T) {
		hm, ok := stream.TextDelta{MessageID: "a", Thinking: true, Text: "hm"}, stream.TextDelta{MessageID: "a", BlockIndex: 1, Text: "ok"}
		started(t, v099).push(hm, delta("a", "o"), hm, ok, assistant("a", thinking("hm"), text("ok"))).
			says(`thought a "hm"`, `text a "o"`, `thought a "hm"`, `text a "ok"`, `text a holds from byte 1 of text and 2 of thought: "ok"`)
	})
	t.Run("thinking that the snapshot leaves out is not void", func(t *testing.T) {
		started(t, v099).push(stream.TextDelta{MessageID: "a", Thinking: true, Text: "hm"}, delta("a", "one "), delta("a", "one two"), assistant("a", text("one two"))).
			says(`thought a "hm"`, `text a "one "`, `text a "one two"`, `text a holds from byte 4 of text and 0 of thought: "one two"`)
	})
	t.Run("several blocks are repeated", func(t *testing.T) {
		block := func(index int, thinking bool, s string) stream.Event {
			return stream.TextDelta{MessageID: "a", BlockIndex: index, Thinking: thinking, Text: s}
		}
		started(t, v099).push(block(0, true, "hm"), block(0, true, "hm"), block(1, true, "so"), block(2, false, "one "), block(3, false, "two"),
			assistant("a", thinking("hm"), thinking("so"), text("one "), text("two"))).
			says(`thought a "hm"`, `thought a "hm"`, `thought a "so"`, `text a "one "`, `text a "two"`,
				`text a holds from byte 0 of text and 2 of thought: "one two"`)
	})
	t.Run("the snapshot is not what came last", func(t *testing.T) {
		started(t, v099).push(first...).push(assistant("a", text("one three"))).
			says(`text a "one "`, `text a "two "`, "text retracted a", `text a~2 "one three"`)
	})
	t.Run("the failed attempt began a tool call", func(t *testing.T) {
		started(t, v225).push(delta("a", "one"), toolCall("c1", nil), stream.LLMRetry{Attempt: 1}, toolCall("c1", nil), toolCall("c1", abc), assistant("a", use("c1", abc)), result("c1", "ok")).
			says(`text a "one"`, "tool c1 started: Execute {}", "text retracted a", "tool c1 ended unfinished", "retrying, attempt 1, ",
				"tool c1~2 started: Execute {}", `tool c1~2 input: Execute {"command":"abc"}`, `tool c1~2 ended "ok"`)
	})
	t.Run("the failed attempt began a tool call on 0.99", func(t *testing.T) {
		started(t, v099).push(delta("a", "one"), toolCall("c1", nil), delta("a", "two"), toolCall("c2", abc), assistant("a", text("two"), use("c2", abc))).
			says(`text a "one"`, "tool c1 started: Execute {}", `text a "two"`, `tool c2 started: Execute {"command":"abc"}`,
				`text a holds from byte 3 of text and 0 of thought: "two"`, "tool c1 ended unfinished")
	})
}

func TestTextMeetsSnapshot(t *testing.T) {
	for _, test := range []struct {
		name   string
		events []stream.Event
		want   []string
	}{
		{"nothing streamed", []stream.Event{assistant("a", thinking("hm"), text("hi"))}, []string{`thought a "hm"`, `text a "hi"`}},
		{"suffix missing", []stream.Event{delta("a", "h"), assistant("a", text("hi"))}, []string{`text a "h"`, `text a "i"`}},
		{"equal", []stream.Event{delta("a", "hi"), assistant("a", text("hi"))}, []string{`text a "hi"`}},
		{"snapshot and deltas repeated", []stream.Event{delta("a", "hi"), assistant("a", text("hi")), assistant("a", text("hi")), delta("a", "hi")}, []string{`text a "hi"`}},
		{"thought without text", []stream.Event{assistant("a", thinking(""), text("hi"))}, []string{`text a "hi"`}},
		{"thinking not in the snapshot", []stream.Event{stream.TextDelta{MessageID: "a", Thinking: true, Text: "hm"}, stream.TextDelta{MessageID: "a", BlockIndex: 1, Text: "hi"}, assistant("a", text("hi"))}, []string{`thought a "hm"`, `text a "hi"`}},
		{"two blocks streamed", []stream.Event{delta("a", "hi"), stream.TextDelta{MessageID: "a", BlockIndex: 1, Text: "ho"}, assistant("a", text("hi"), text("ho"))}, []string{`text a "hi"`, `text a "ho"`}},
		{"second block missing", []stream.Event{delta("a", "hi"), assistant("a", text("hi"), use("c", abc), text("ho"))}, []string{`text a "hi"`, `text a "ho"`, `tool c started: Execute {"command":"abc"}`}},
		{"first block incomplete", []stream.Event{delta("a", "h"), stream.TextDelta{MessageID: "a", BlockIndex: 1, Text: "ho"}, assistant("a", text("hi"), text("ho"))}, []string{`text a "h"`, `text a "ho"`, "text retracted a", `text a~2 "hi"`, `text a~2 "ho"`}},
		{"blocks out of order", []stream.Event{stream.TextDelta{MessageID: "a", BlockIndex: 1, Text: "ho"}, delta("a", "hi"), assistant("a", text("hi"), text("ho"))}, []string{`text a "ho"`, `text a "hi"`, "text retracted a", `text a~2 "hi"`, `text a~2 "ho"`}},
		{"messages without id", []stream.Event{delta("", "x"), assistant("", text("x")), delta("", "x"), assistant("", text("xy"))}, []string{`text  "x"`, `text  "x"`, `text  "y"`}},
		{"empty deltas", []stream.Event{delta("a", ""), assistant("a")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) { started(t, v099).push(test.events...).says(test.want...) })
	}
	t.Run("never shown", func(t *testing.T) {
		hidden := assistant("a", text("secret"), use("c", abc)).(stream.MessageCreated)
		hidden.Message.Visibility = stream.VisibilityLLMOnly
		started(t, v099).push(hidden).says()
	})
}

// A turn of droid's own that was cut off is over with its idle: a later retry voids none of its words.
func TestRetryAfterAnOwnTurnThatWasCutOff(t *testing.T) {
	for name, begins := range map[string]bool{"before the prompt": false, "the prompt waits": true} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, v225).push(streaming, delta("own", "hi"))
			if begins {
				k.begin("p1")
			}
			k.push(idle)
			if !begins {
				k.begin("p1")
			}
			k.push(streaming, user("p1", "u1"), stream.LLMRetry{Attempt: 1})
			require.NotContains(t, k.lines, "text retracted own")
			require.Contains(t, k.lines, `turn started, prompt "p1", message u1`)
		})
	}
}

// A session may go on for days: of a message that is done nothing is kept.
func TestTextOfADoneMessageIsForgotten(t *testing.T) {
	for name, end := range map[string]func(k *talk){
		"completed": func(k *talk) { k.push(assistant("a", text("hi"))) },
		"cancelled": func(k *talk) { k.interrupt().push(idle) },
	} {
		t.Run(name, func(t *testing.T) {
			k := started(t, v099).push(delta("a", "hi"))
			require.True(t, k.n.messages["a"].sentText[kindOf(false)].has(0, "hi"))
			end(k)
			require.True(t, k.n.messages["a"].done)
			require.Empty(t, k.n.messages["a"].blocks)
			require.Zero(t, k.n.messages["a"].sentText[kindOf(false)].size)
		})
	}
}

// TestTextAfterAnInterruptIsNotKept: a snapshot that comes all the same is compared
// with the text by its hash.
func TestTextAfterAnInterruptIsNotKept(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshot string
		says     []string
	}{
		"the same":       {"hi there", nil},
		"more":           {"hi there, you", []string{`text a ", you"`}},
		"something else": {"hello", []string{"text retracted a", `text a~2 "hello"`}},
		"less":           {"hi", []string{"text retracted a", `text a~2 "hi"`}},
	} {
		t.Run(name, func(t *testing.T) {
			k := started(t, v099).push(delta("a", "hi")).interrupt().push(delta("a", " "), delta("a", "there"))
			said := &k.n.messages["a"].sentText[kindOf(false)]
			require.Empty(t, said.pieces)
			require.Zero(t, said.tail.Len())
			k.says(`text a "hi"`, `text a " "`, `text a "there"`)
			k.push(assistant("a", text(tc.snapshot))).says(tc.says...)
		})
	}
}
