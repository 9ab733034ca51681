package main

import (
	"encoding/xml"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStyles(t *testing.T) {
	require.Equal(t, [][]span{
		{{"you", "bold"}, {" | ", "faint"}, {"a b", ""}},
		nil,
		{{"c    d", "bold red"}, {"e", "red"}, {"f", ""}},
	}, parse("\x1b[1myou\x1b[0m\x1b[2m | \x1b[0ma \x1b[0mb\r\n\r\n\x1b[1;31mc\td\x1b[m\x1b[31me\x1b[K\x1b[0;99mf\r\n\r\n", 80))
}

func TestLongLines(t *testing.T) {
	set := strings.Repeat(" ", margin)
	require.Equal(t, [][]span{{{"one two ", ""}, {"three four ", "red"}}, {{set, ""}, {"five", "red"}}},
		parse("one two \x1b[31mthree four five", 21), "at a space")
	require.Equal(t, [][]span{{{strings.Repeat("a", 21), ""}}, {{set, ""}, {strings.Repeat("a", 9), ""}}, {{set, ""}, {"aa", ""}}},
		parse(strings.Repeat("a", 32), 21), "there is none")
	require.Equal(t, [][]span{{{strings.Repeat("é", 21), ""}}}, parse(strings.Repeat("é", 21), 21), "letters are counted, not bytes")
}

func TestPicture(t *testing.T) {
	picture := svg(`a "b" <c>`, [][]span{{{"x < y", ""}, {"&", "red"}}, nil})
	var texts []string
	d := xml.NewDecoder(strings.NewReader(picture))
	for in := ""; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local
		case xml.CharData:
			if in == "text" || in == "tspan" || in == "desc" {
				texts = append(texts, strings.TrimSpace(string(token)))
			}
		}
	}
	require.Equal(t, `a "b" <c>,$,a "b" <c>,x < y,&`, strings.ReplaceAll(strings.Trim(strings.Join(texts, ","), ","), ",,", ","))
	for _, outside := range []string{"href", "url(", "@import", "<script", "font-face"} {
		require.NotContains(t, picture, outside)
	}
}

func TestQuoted(t *testing.T) {
	require.Equal(t, `a --b "c d" "\$e"`, quoted([]string{"a", "--b", "c d", "$e"}))
}

// TestRun: the command has a terminal, and a failure is one.
func TestRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the terminal is one of Unix")
	}
	printed, err := run([]string{"/bin/sh", "-c", "test -t 1 && pwd"})
	require.NoError(t, err)
	require.Equal(t, "~/project\r\n", printed)
	_, err = run([]string{"/bin/sh", "-c", "echo no; exit 3"})
	require.ErrorContains(t, err, "no")
}
