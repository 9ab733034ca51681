package show

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a command writes decides neither how its block of code ends nor how long
// it takes to find out: a megabyte of backticks took minutes.
func TestFencedIsLongerThanAnyRun(t *testing.T) {
	require.Equal(t, "```\na\n```", Fenced("", "a\n"))
	require.Equal(t, "`````sh\na```` b ``` c\n`````", Fenced("sh", "a```` b ``` c"))
	run := strings.Repeat("`", 1<<20)
	require.Equal(t, "`"+run+"\n"+run+"\n`"+run, Fenced("", run))
}

func TestProvidersWordsWithoutJSON(t *testing.T) {
	for text, want := range map[string]string{
		`401 {"type":"error","error":{"type":"authentication_error","message":"bad {key}"}}`: "401 bad {key}",
		"BYOK Error: 529 {\"error\":{\"message\":\"busy\"}}\n\nWait.":                        "BYOK Error: 529 busy\n\nWait.",
		`401 {"error":{"message":"cut`:                                                       `401 {"error":{"message":"cut`,
		`400 {"error":"in another form"}`:                                                    `400 {"error":"in another form"}`,
		`400 {"detail":"in another form"}`:                                                   `400 {"detail":"in another form"}`,
		`200 {"error":{"message":"x"}}`:                                                      `200 {"error":{"message":"x"}}`,
		"":                                                                                   "",
	} {
		require.Equal(t, want, ProviderWords(text))
	}
}
