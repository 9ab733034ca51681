package editorfs

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	const old, young, future = time.Minute, time.Second, -time.Minute
	for name, tc := range map[string]struct {
		comparison
		want verdict
	}{
		"the same":                                    {comparison{same: true, age: old}, verdictEqual},
		"the same, just changed by a command":         {comparison{same: true, command: true}, verdictEqual},
		"typed into a file that nobody has touched":   {comparison{age: old}, verdictUnsaved},
		"exactly when a reload must have come":        {comparison{age: reloadTime}, verdictUnsaved},
		"just before":                                 {comparison{age: reloadTime - 1}, verdictRetry},
		"just changed":                                {comparison{age: 0}, verdictRetry},
		"changed by a clock that is a little ahead":   {comparison{age: -time.Second}, verdictRetry},
		"changed in the far future":                   {comparison{age: future}, verdictDisk},
		"changed by a command":                        {comparison{command: true, age: old}, verdictDisk},
		"changed by a command just now":               {comparison{command: true, age: young}, verdictDisk},
		"changed by a command, loaded, then typed":    {comparison{command: true, confirmed: true, age: young}, verdictUnsaved},
		"saved by us through the editor, then typed":  {comparison{confirmed: true, age: young}, verdictUnsaved},
		"loaded from the far future, then typed":      {comparison{confirmed: true, age: future}, verdictUnsaved},
		"a reload of the text before":                 {comparison{earlier: true, age: young}, verdictRetry},
		"typed, or an edit beside the editor":         {comparison{direct: true, age: old}, verdictDisk},
		"just after an edit beside the editor":        {comparison{direct: true, age: young}, verdictRetry},
		"... that the editor has loaded, then typed":  {comparison{direct: true, confirmed: true, age: young}, verdictUnsaved},
		"an empty text for one that is not":           {comparison{empty: true, confirmed: true, age: old}, verdictDisk},
		"... just changed":                            {comparison{empty: true, age: young}, verdictDisk},
		"both are empty":                              {comparison{empty: true, same: true, age: old}, verdictEqual},
		"... after the editor had the new one":        {comparison{earlier: true, confirmed: true, age: young}, verdictRetry},
		"... of a command":                            {comparison{earlier: true, command: true, age: young}, verdictDisk},
		"an editor that never reloads":                {comparison{earlier: true, age: old}, verdictDisk},
		"an undo that is not saved":                   {comparison{earlier: true, confirmed: true, age: old}, verdictDisk},
		"an earlier text, the file from far ahead":    {comparison{earlier: true, age: future}, verdictDisk},
		"an earlier text, of a clock a little ahead":  {comparison{earlier: true, age: -time.Second}, verdictRetry},
		"an earlier text, exactly when it is too old": {comparison{earlier: true, age: reloadTime}, verdictDisk},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, judge(tc.comparison)) })
	}
}

// TestJudgeNeverSavesWhatMayBeOld: of all that can be seen, only these are unsaved texts.
func TestJudgeNeverSavesWhatMayBeOld(t *testing.T) {
	for bits := range 64 {
		for _, age := range []time.Duration{-time.Hour, -time.Second, 0, time.Second, reloadTime, time.Hour} {
			s := comparison{same: bits&1 != 0, confirmed: bits&2 != 0, earlier: bits&4 != 0, command: bits&8 != 0, direct: bits&16 != 0, empty: bits&32 != 0, age: age}
			if judge(s) != verdictUnsaved {
				continue
			}
			require.False(t, s.same || s.earlier || s.empty, fmt.Sprint(s))
			require.True(t, s.confirmed || !s.command && !s.direct && s.age >= reloadTime, fmt.Sprint(s))
		}
	}
}

// TestJudgeWrite has what each pair of texts on disk and in the editor says of a write, as letters of the texts.
func TestJudgeWrite(t *testing.T) {
	texts := map[byte]string{'b': "one\ntwo\n", 'd': "one\n2,\n", 't': "one\n2,\n2,\n", 'f': "one\n\t2,\n", 'o': "other\n", 'r': "one\r\n2,\r\n", '-': ""}
	for pair, want := range map[string]finding{
		"dd": findingAgreed, "dr": findingAgreed, "d-": findingUnseen, "db": findingUndone, "df": findingBypassed, "dt": findingBypassed, "do": findingBypassed,
		"ff": findingAgreed, "oo": findingAgreed, "tt": findingTwice, "rd": findingAgreed,
		"fb": findingOld, "ob": findingOld, "tb": findingOld,
		"fd": findingOther, "fo": findingOther, "td": findingOther, "f-": findingOther,
	} {
		disk, buffer := texts[pair[0]], texts[pair[1]]
		require.Equal(t, want, judgeWrite(texts['b'], texts['d'], disk, buffer, false), pair)
		if want == findingAgreed && disk != texts['d'] {
			want = findingTwice
		}
		require.Equal(t, want, judgeWrite(texts['b'], texts['d'], disk, buffer, true), "%s, and a reload may come", pair)
	}
	require.Equal(t, findingAgreed, judgeWrite("x\n", "", "", "", false), "droid has emptied the file")
	require.Equal(t, findingUnseen, judgeWrite("", "x\n", "x\n", "", false), "a new file")
}

// TestReconcile checks the outcome for each text that somebody else has saved over an edit of "2" in three lines.
func TestReconcile(t *testing.T) {
	const base, droids = "1\n2\n3\n", "1\ntwo\n3\n"
	for name, tc := range map[string]struct {
		disk    string
		partial bool
		text    string
		how     resolution
	}{
		"another line":                      {"1\n2\n3\n4\n", false, "1\ntwo\n3\n4\n", resolveMerge},
		"the same line":                     {"1\nzwei\n3\n", false, droids, resolveOverlap},
		"all but droid's line":              {"1\nzwei\n3\n", true, droids, resolveOverlap},
		"a part of it, while it is written": {"1\ntw", true, droids, resolveTorn},
		"nothing, while it is written":      {"", true, droids, resolveTorn},
		"a part of it, which nobody writes": {"1\ntw", false, droids, resolveOverlap},
		"droid's text and another line":     {"1\ntwo\n3\n4\n", false, "1\ntwo\n3\n4\n", resolveMerge},
		"another line, while it is written": {"0\n1\n2\n3\n", true, "0\n1\ntwo\n3\n", resolveMerge},
	} {
		text, how := reconcile(base, droids, droids, tc.disk, tc.partial)
		require.Equal(t, tc.how, how, name)
		require.Equal(t, tc.text, text, name)
	}
	const merged = "0\n1\ntwo\n3\n" // before another one has saved
	text, how := reconcile(base, droids, merged, "0\n1\ntw", true)
	require.Equal(t, resolveTorn, how, "a part of the merge that is being written")
	require.Equal(t, merged, text)
}

func TestCommands(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	c := commands{open: make(map[commandKey]time.Time)}
	a, b := commandKey{id: "a"}, commandKey{id: "b"}
	require.False(t, c.ran(at(0)))
	c.begin(a, at(1))
	c.begin(a, at(5)) // reported twice
	require.False(t, c.ran(at(0)))
	require.True(t, c.ran(at(1)))
	require.True(t, c.ran(at(99)), "it still runs")
	c.begin(b, at(3))
	c.end(a, at(10))
	c.end(a, at(20)) // reported twice
	require.True(t, c.ran(at(50)), "the other runs")
	c.end(b, at(12))
	require.True(t, c.ran(at(12).Add(commandSlack)))
	require.False(t, c.ran(at(12).Add(commandSlack+1)))
	require.False(t, c.ran(at(1).Add(-1)))
	c.begin(a, at(30))
	c.end(a, at(31))
	require.False(t, c.ran(at(20)))
	require.True(t, c.ran(at(30)))
	require.True(t, c.ran(at(2)))

	for i := range 2 * maxWindows {
		c.begin(a, at(100+10*i))
		c.end(a, at(101+10*i))
	}
	require.Len(t, c.windows, maxWindows)
	require.True(t, c.ran(at(2)), "no window is forgotten")
	require.True(t, c.ran(at(100+10*(2*maxWindows-1))))
	require.False(t, c.ran(at(105+10*(2*maxWindows-2))))
}
