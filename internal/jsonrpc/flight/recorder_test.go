package flight

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func all(*Connection, string) bool { return true }

// Messages are kept in order, with their connection, direction, size and time; parts of one text are counted.
func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(1 << 20)
		editor, droid := r.Connection("editor"), r.Connection("droid 7")
		editor.Add(In, Series{}, []byte(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":"my words"}]}}`))
		droid.Add(Out, Series{}, []byte(`{"type":"request","id":"a","method":"droid.add_user_message"}`))
		text := Series{"text", "m"}
		droid.Add(In, text, []byte(`{"type":"assistant_text_delta","textDelta":"one"}`))
		time.Sleep(2 * time.Second)
		droid.Add(In, text, []byte(`{"type":"assistant_text_delta","textDelta":"two"}`))
		require.True(t, droid.More(In, text, 2, 16))
		require.False(t, droid.More(In, Series{"text", "n"}, 1, 10))
		require.False(t, droid.More(Out, Series{}, 1, 10))
		droid.Add(In, Series{"text", "n"}, []byte(`{"type":"assistant_text_delta","textDelta":"other"}`))
		lines := r.Lines(all)
		require.Len(t, lines, 4)
		require.Regexp(t, `^00:00:00\.000 editor < 124 B \{id:3,method:"session/prompt",params:\{sessionId:"s-1",prompt:\[\{type:"text",text:‹8:[0-9a-f]{6}›\}\]\}\}$`, lines[0])
		require.Equal(t, `00:00:00.000 droid 7 > 61 B {type:"request",id:"a",method:"droid.add_user_message"}`, lines[1])
		require.Regexp(t, `^00:00:00\.000 droid 7 < 16 B of text in 4 messages \{type:"assistant_text_delta",textDelta:‹3:`, lines[2])
		require.Regexp(t, `^00:00:02\.000 droid 7 < 0 B of text in 1 messages \{`, lines[3])
		require.Len(t, r.Lines(func(c *Connection, outline string) bool { return c == droid }), 3)
	})
}

// The oldest messages give way, however many there are and however long.
func TestRecorderIsBounded(t *testing.T) {
	r := New(64 << 10)
	c := r.Connection("c")
	for i := range 10_000 {
		c.Add(Direction(i%2), Series{}, fmt.Appendf(nil, `{"id":%d,"list":[%s0]}`, i, strings.Repeat(`"x",`, i)))
	}
	require.LessOrEqual(t, r.size, 64<<10)
	lines := r.Lines(all)
	require.NotEmpty(t, lines)
	require.Contains(t, lines[len(lines)-1], "{id:9999,")
	require.LessOrEqual(t, len(strings.Join(lines, "")), 64<<10)
}

func TestNilRecorder(t *testing.T) {
	var r *Recorder
	c := r.Connection("c")
	c.Add(In, Series{}, []byte("{}"))
	c.More(In, Series{}, 1, 7)
	require.Empty(t, r.Lines(all))
}

// An outline has identifiers of members that are known to have no others, and no other text.
func TestOutline(t *testing.T) {
	seed := maphash.MakeSeed()
	hide := func(text string) string { return hidden(seed, []byte(text)) }
	for line, want := range map[string]string{
		`{"method":"session/update"}`:              `{method:"session/update"}`,
		`{"id":"a b"}`:                             `{id:` + hide("a b") + `}`,
		`{"id":"` + strings.Repeat("k", 81) + `"}`: `{id:` + hide(strings.Repeat("k", 81)) + `}`,
		`{"apiKey":"sk-1"}`:                        `{apiKey:` + hide("sk-1") + `}`,
		`{"a" : [ "x", -1.5e3, true, null ]}`:      `{a : [ ` + hide("x") + `, -1.5e3, true, null ]}`,
		`{"/home/me/a.txt":{"type":"x\"y"}}`:       `{` + hide("/home/me/a.txt") + `:{type:` + hide(`x\"y`) + `}}`,
		`{"type":["secret"]}`:                      `{type:[` + hide("secret") + `]}`,
		`{"type":{"x":"secret"}}`:                  `{type:{x:` + hide("secret") + `}}`,
		`Welcome, me!`:                             `‹12 B that are not JSON›`,
		`{"a":secret}`:                             `{a:‹7 B that are not JSON›`,
		`{"a":"secret`:                             `{a:‹7 B that do not end›`,
		`{"a":0x7f,"b":infinity}`:                  `{a:‹18 B that are not JSON›`,
		``:                                         ``,
	} {
		require.Equal(t, want, outline(seed, []byte(line)), line)
	}
	long := outline(seed, []byte(`{"a":[`+strings.Repeat(`"x",`, 1<<20)+`]}`))
	require.LessOrEqual(t, len(long), maxOutline+100)
	require.Contains(t, long, "B more")
	require.LessOrEqual(t, len(outline(seed, []byte(`{"a":`+strings.Repeat("7", 1<<20)+`}`))), 100)
}

// No text of a message is in its outline, whatever is between the quotes.
func FuzzOutline(f *testing.F) {
	seed := maphash.MakeSeed()
	for _, s := range []string{"secret words", `a\"b`, "sk-123", "\\u0041", "line\\n", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := []byte(`{"prompt":[{"type":"text","text":"!` + s + `!"}],"env":{"KEY":"!` + s + `!"}}`)
		got := outline(seed, text)
		if len(s) > 3 && !strings.ContainsAny(s, `"\`) {
			require.NotContains(t, got, s+"!")
		}
		require.LessOrEqual(t, len(got), maxOutline+200)
	})
}

func BenchmarkMore(b *testing.B) {
	c := New(1 << 20).Connection("c")
	line := []byte(`{"jsonrpc":"2.0","type":"notification","method":"droid.session_notification","params":{"notification":{"type":"assistant_text_delta","textDelta":"word"}}}`)
	for b.Loop() {
		c.Add(In, Series{"text", "m"}, line)
	}
}

// Members of a header, of a tool's input or of a schema may have any name, including those whose values appear elsewhere.
func TestOutlineOfForeignMembers(t *testing.T) {
	for member := range foreign {
		for _, value := range []string{`{"state":"s3cr3t","a":{"code":"s3cr3t"},"kind":"s3cr3t"}`, `[{"id":"s3cr3t"},[{"type":"s3cr3t"}],"s3cr3t"]`} {
			got := outline(maphash.MakeSeed(), []byte(`{"id":"c","`+member+`":`+value+`,"state":"idle"}`))
			require.NotContains(t, got, "s3cr3t")
			require.Contains(t, got, `{id:"c",`)
			require.Contains(t, got, `state:"idle"`)
		}
	}
}
