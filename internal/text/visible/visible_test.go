package visible

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain\n\ttext ~":          "plain\n\ttext ~",
		"ä 漢字 عربي 👍🏽 ✓ ␛":         "ä 漢字 عربي 👍🏽 ✓ ␛",
		"rm -rf /\x1b[2K\x1b[1A":   `rm -rf /\x1b[2K\x1b[1A`,
		"a\rb":                     `a\rb`,
		"a\r\nb\r\n":               "a\nb\n",
		"\a\b\f\v\x00\x7f":         `\x07\x08\x0c\x0b\x00\x7f`,
		"csi \u009b2K, nel \u0085": `csi \u009b2K, nel \u0085`,
		"ls \u202e/ fr- mr":        `ls \u202e/ fr- mr`,
		"\u202a\u202b\u202c\u202d": `\u202a\u202b\u202c\u202d`,
		"\u2066\u2067\u2068\u2069": `\u2066\u2067\u2068\u2069`,
		"\u200e\u200f\u061c":       `\u200e\u200f\u061c`,
		"a\u200bb\u2060c\ufeffd":   `a\u200bb\u2060c\ufeffd`,
		"soft\u00adhyphen":         `soft\u00adhyphen`,
		"lines\u2028and\u2029more": `lines\u2028and\u2029more`,
		"filler \u3164 \u115f":     `filler \u3164 \u115f`,
		"tag \U000e0041":           `tag \U000e0041`,
		"no \xff\xfe UTF-8":        `no \xff\xfe UTF-8`,
		"a real \ufffd":            "a real \ufffd",
		"👨‍👩‍👧":                    "👨‍👩‍👧",
		"می\u200cخواهم":            "می\u200cخواهم",
		"pay\u200dpal":             `pay\u200dpal`,
		"\u200d":                   `\u200d`,
		"👍\u200d":                  "👍\u200d",
		"❤\ufe0f ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f": "❤\ufe0f ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f",
		"葛\U000e0100 ᠠ\u180b":                    "葛\U000e0100 ᠠ\u180b",
		"r\ufe0fm .env\ufe00 \ufe0f":             `r\ufe0fm .env\ufe00 \ufe0f`,
		"a\u180b\u180f\U000e01ef":                `a\u180b\u180f\U000e01ef`,
		"👍\ufe0f\ufe0f\U000e0120":                "👍\ufe0f" + `\ufe0f\U000e0120`,
		"1\ufe0f a\ufe0f\u20e3":                  `1\ufe0f a\ufe0f` + "\u20e3",
		"a\ufe0f\u200d👍":                         `a\ufe0f\u200d` + "👍",
		"д\u200dом до\u200cм":                    `д\u200dом до\u200cм`,
		"é\u200dé e\u0301\u200dé é\ufe0f":        `é\u200dé e` + "\u0301" + `\u200dé é\ufe0f`,
		"文\u200d件 か\u200cな 가\ufe0f":              `文\u200d件 か\u200cな 가\ufe0f`,
		"क\u094d\u200dष ↔\ufe0f ‼\ufe0f ℹ\ufe0f": "क\u094d\u200dष ↔\ufe0f ‼\ufe0f ℹ\ufe0f",
		"mot\u00a0: «\u202foui\u202f»":           "mot\u00a0: «\u202foui\u202f»",
		"\u0600 has a shape":                     "\u0600 has a shape",
		`printf '\x1b[1A' is no sign`:            `printf '\x1b[1A' is no sign`,
	} {
		require.Equal(t, want, Text(in))
		require.Equal(t, want, Text(want), "again it is the same")
	}
}

// In a command or a path a space that only looks like one is another sign, and one that is empty hides.
func TestExact(t *testing.T) {
	for in, want := range map[string]string{
		"rm -rf x\n\ty ä":                      "rm -rf x\n\ty ä",
		"rm\u00a0-rf \u2003\u202f\u3000\u2800": `rm\u00a0-rf \u2003\u202f\u3000\u2800`,
		"a\u202e\r\n":                          `a\u202e` + "\n",
	} {
		require.Equal(t, want, Exact(in))
		require.Equal(t, want, Exact(want), "again it is the same")
		require.Equal(t, want, Text(Exact(in)))
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":               "plain",
		"one\ntwo\r\n\nthree": "one ⏎ two ⏎ three",
		"\n  one\t\n":         "one",
		"a\tb":                "a b",
		"x\n\x1b[1A\u202ey":   `x ⏎ \x1b[1A\u202ey`,
		"a\rb":                `a\rb`,
		"\n\n":                "",
	} {
		require.Equal(t, want, Line(in))
	}
}

func TestJSON(t *testing.T) {
	line := `{"a":"x` + "\u009b\u202e\U000e0041\u2028" + `","b":1}` + "\n"
	got := JSONLine(line)
	require.Equal(t, `{"a":"x\u009b\u202e\udb40\udc41\u2028","b":1}`+"\n", got)
	require.JSONEq(t, line, got, "it means the same")
	require.Equal(t, "{ \n}", JSONLine("{\r\n}"))
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	n, err := NewWriter(&out).Write([]byte("a\x1b[1A\n"))
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.Equal(t, `a\x1b[1A`+"\n", out.String())
}

// TestWriterKeepsLettersWhole: wherever the writes cut a text, the same comes of it.
func TestWriterKeepsLettersWhole(t *testing.T) {
	for text, want := range map[string]string{
		"aä€😀z\r\n\u202e\x1b[": "aä€😀z\n" + `\u202e\x1b[`,
		"\xff\xe2\x82x\r":      `\xff\xe2\x82x\r`,
		"end \xf0\x9f\x98":     `end \xf0\x9f\x98`,
		"\x80\x80\x80\x80":     `\x80\x80\x80\x80`,
	} {
		for size := 1; size <= len(text); size++ {
			var out bytes.Buffer
			w := NewWriter(&out)
			for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				n, err := w.Write(rest[:min(size, len(rest))])
				require.NoError(t, err)
				require.Equal(t, min(size, len(rest)), n)
			}
			require.NoError(t, w.Flush())
			require.Equal(t, want, out.String(), size)
		}
	}
}

func TestWriterReturnsErrors(t *testing.T) {
	_, err := NewWriter(failing{}).Write([]byte("a"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestJSONStrings(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": [1.50, "b\"", null, "ä"]}`:                    `{"a": [1.50, "b\"", null, "ä"]}`,
		`"\u001b[2K\u202e` + "\u202e\xff" + `"`:              `"\\x1b[2K\\u202e\\u202e` + "\uFFFD" + `"`,
		`{"\u200b":"\ud83d\ude00","b":"\ud83d","c":"\\u12"}`: `{"\\u200b":"😀","b":"` + "\uFFFD" + `","c":"\\u12"}`,
		`{"a":"line\nline\t"}`:                               `{"a":"line\nline\t"}`,
		`{"a`:                                                `null`,
		``:                                                   `null`,
	} {
		require.Equal(t, want, string(JSONStrings([]byte(in))), in)
	}
}

// FuzzText checks that nothing passes that hides something, that doing it twice
// changes nothing, and that no text is lost.
func FuzzText(f *testing.F) {
	f.Add("a\x1b[2Kb\r\n\u202e\xff\u200d👍")
	f.Add("[\"\u202e\",\r3]")
	f.Fuzz(func(t *testing.T, s string) {
		text, line := Text(s), Line(s)
		require.True(t, utf8.ValidString(text))
		require.Equal(t, text, Text(text))
		require.Equal(t, line, Line(line))
		require.NotContains(t, line, "\n")
		for _, shown := range []string{text, line} {
			for _, r := range shown {
				require.False(t, isHidden(r) && !isJoiner(r) && !isVariationSelector(r), "%q", r)
				require.True(t, r == '\n' || r == '\t' || !unicode.IsControl(r))
			}
		}
		for _, word := range strings.FieldsFunc(s, func(r rune) bool { return isHidden(r) || r == utf8.RuneError || unicode.IsSpace(r) }) {
			require.Contains(t, text, word)
			require.Contains(t, line, word)
		}
		if json.Valid([]byte(s)) && utf8.ValidString(s) {
			require.Equal(t, decoded(t, s), decoded(t, JSONLine(s)))
		}
		values := JSONStrings([]byte(s))
		require.True(t, json.Valid(values))
		require.Equal(t, values, JSONStrings(values))
		if safe := string(values); json.Valid([]byte(s)) && Text(s) == s && !strings.Contains(s, `\u`) {
			require.Equal(t, s, safe)
		}
	})
}

// decoded keeps numbers as they are written: they may be too large for Go.
func decoded(t *testing.T, s string) (v any) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v))
	return v
}
