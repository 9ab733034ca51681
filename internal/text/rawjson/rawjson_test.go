package rawjson

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Unquote decodes a string like encoding/json.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"plain"`, `"a\n\t\"\\\/\b\f\r"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`,
		`"\ude00\ud83d\ude00"`, "\"\xff\xfe\\n\xc3\"", "\"\xe2\x82\\u0041\"", `"\u0000"`, `""`, `7`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || len(raw) == 0 || raw[0] != '"' || raw[len(raw)-1] != '"' {
			return
		}
		var want string
		require.NoError(t, json.Unmarshal(raw, &want))
		require.Equal(t, want, Unquote(raw))
	})
}

// The scanner agrees with encoding/json about the extent of all values.
func TestFields(t *testing.T) {
	const text = ` { "a" : 1 , "b":"x\\\"}," , "c":{"d":["}",{}]} ,"e":[], "f":true,"g":null,"\u0068":-1.5e+3,"":"" } `
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &want))
	got := map[string]json.RawMessage{}
	for name, value := range Fields([]byte(text)) {
		got[string(name)] = value
	}
	require.Equal(t, want, got)
	require.Equal(t, "[]", string(Field([]byte(text), "e")))
	require.Nil(t, Field([]byte(text), "none"))
	for _, no := range []string{``, ` `, `[]`, `1`, `"{}"`} {
		require.False(t, IsObject([]byte(no)), no)
		for range Fields([]byte(no)) {
			require.Fail(t, "it has no fields", no)
		}
	}
}

// A Value is the part of what was decoded, and no copy of it: encoding/json hands out parts of its input.
func TestValueIsInPlace(t *testing.T) {
	line := []byte(`{"a": {"x":[1, 2]} ,"b":"text","c":null}`)
	var fields struct{ A, B, C, D Value }
	require.NoError(t, json.Unmarshal(line, &fields))
	require.Equal(t, []string{`{"x":[1, 2]}`, `"text"`, `null`, ``}, []string{string(fields.A), string(fields.B), string(fields.C), string(fields.D)})
	require.Same(t, &line[6], &fields.A[0])
	require.Same(t, &line[24], &fields.B[0])
	again, err := json.Marshal(fields)
	require.NoError(t, err)
	require.JSONEq(t, `{"A":{"x":[1,2]},"B":"text","C":null,"D":null}`, string(again))
}

func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "a", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<a href='x'>&</a>", "é😀\u2028\u2029\ufeff", "\xff\xc3", "a\xf0\x9f\x98b", strings.Repeat("ab\n", 100)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := AppendString([]byte("before"), text)
		require.Equal(t, "before", string(raw[:6]))
		var want, got string
		ours, err := json.Marshal(text)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(ours, &want))
		require.NoError(t, json.Unmarshal(raw[6:], &got))
		require.Equal(t, want, got)
		require.NotContains(t, string(raw), "\u2028")
		require.LessOrEqual(t, len(raw)-6, len(ours))
	})
}

// FuzzShape compares what a shape takes for a string with what encoding/json does.
func FuzzShape(f *testing.F) {
	for _, text := range []string{"", "word 17 ", `a long text with a quote " in it`, `tab\t and \u00e4 and \ud83d\ude00 and \\`, `\`, `\u12`, `\x`, "a long text with\x1fcontrol", "é€😀 and on and on", "\xff\x80\x9f\xa2\xdc"} {
		f.Add([]byte(text), []byte("span"))
	}
	for _, aside := range []string{"", "spans", `s"an`, `spa\`, "s\x00an", `s\nn`} {
		f.Add([]byte("text"), []byte(aside))
	}
	line := []byte(`{"a":"text"}`)
	shape := NewLineTemplate(line, line[5:11], nil)
	two := []byte(`{"a":"text","b":1,"c":{"d":"mean"}}`)
	both := NewLineTemplate(two, two[5:11], two[27:33])
	f.Fuzz(func(t *testing.T, text, aside []byte) {
		valid := json.Valid([]byte(`"` + string(text) + `"`))
		got, ok := shape.Cut([]byte(`{"a":"` + string(text) + `"}`))
		require.Equal(t, valid, ok, "%q", text)
		if ok {
			require.Equal(t, string(text), string(got))
		}
		got, ok = both.Cut([]byte(`{"a":"` + string(text) + `","b":1,"c":{"d":"` + string(aside) + `"}}`))
		require.Equal(t, valid && len(aside) == 4 && json.Valid([]byte(`"`+string(aside)+`"`)), ok, "%q %q", text, aside)
		if ok {
			require.Equal(t, string(text), string(got))
		}
	})
}
