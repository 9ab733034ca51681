package trust

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/droid/projectconfig"
)

// TestNext runs each state of a project and a droid until a prompt may be sent: droid was then started with exactly the project's items,
// and with none that was not allowed. The layers have neither, one, or both of two items.
func TestNext(t *testing.T) {
	one, other := projectconfig.Item{Kind: projectconfig.Setting, Name: "a", Does: "1"}, projectconfig.Item{Kind: projectconfig.Hook, Name: "a", Does: "1"}
	layers := []projectconfig.Layer{{}, {Items: []projectconfig.Item{one}}, {Items: []projectconfig.Item{other}}, {Items: []projectconfig.Item{one, other}}}
	sums := func(items []projectconfig.Item) []string {
		return Project{Layer: projectconfig.Layer{Items: items}}.Sums()
	}
	for _, given := range layers {
		for _, brings := range layers {
			for _, allowed := range layers {
				for bits := range 16 {
					all, asked, yes, canAsk := bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
					name := fmt.Sprintf("%v to %v, allowed %v, all %v, asked %v, yes %v, can ask %v", given.Items, brings.Items, allowed.Items, all, asked, yes, canAsk)
					given, allowed := given, sums(allowed.Items)
					for steps := 0; ; steps++ {
						require.Less(t, steps, 4, name)
						p := Project{Layer: brings}
						p.Granted = allowed
						p.free = len(brings.Items) > 0 && p.CoveredBy(allowed)
						p.Asks = len(brings.Items) > 0 && !p.free && !asked
						facts := p.Facts(given, all, func(l projectconfig.Layer) projectconfig.Layer { return l })
						facts.CanAsk = canAsk
						step := facts.Next()
						if step == StepSend {
							require.True(t, projectconfig.Same(&given, &brings), name)
							require.True(t, !all || p.CoveredBy(allowed), name)
							require.Empty(t, projectconfig.Layer{Items: given.Items, Granted: allowed}.Inseparable(), name)
							require.False(t, p.Asks, name)
							break
						}
						if step == StepReplace {
							if len(p.Inseparable()) > 0 {
								break // no droid is started
							}
							given, all = brings, p.free
							continue
						}
						require.False(t, asked, "%s: nobody is asked twice", name)
						require.True(t, !all || Project{Layer: given}.CoveredBy(allowed), "%s: what was revoked does not run meanwhile", name)
						require.Equal(t, canAsk, step == StepAsk, name)
						if asked = true; yes && canAsk {
							allowed = append(allowed, p.Sums()...)
						}
					}
				}
			}
		}
	}
}

// TestStepOfAllFacts has the step of each combination of facts: that of the first row that fits.
func TestStepOfAllFacts(t *testing.T) {
	item := projectconfig.Item{Kind: projectconfig.Hook, Name: "a"}
	none, one := projectconfig.Layer{}, projectconfig.Layer{Items: []projectconfig.Item{item}}
	const revoked, brings, asks, canAsk, stale, misses, rests, replaced, most = 1, 2, 4, 8, 16, 32, 64, 128, 256
	rows := []struct {
		all, not int
		step     Step
	}{
		{revoked, 0, StepReplace},
		{brings | asks | canAsk, 0, StepAsk},
		{brings | asks, 0, StepDecline},
		{stale, 0, StepReplace},
		{misses | rests, replaced, StepRefresh},
		{0, 0, StepSend},
	}
	counts := map[Step]int{}
	for bits := range most {
		f := Facts{started: one, Allowed: true}
		if bits&brings != 0 {
			f.present = one
		} else if f.started = none; bits&stale != 0 {
			f.started = one
		}
		f.All = bits&stale == 0
		f.revoked, f.asks, f.CanAsk = bits&revoked != 0, bits&asks != 0, bits&canAsk != 0
		f.MissesTexts, f.Rests, f.Replaced = bits&misses != 0, bits&rests != 0, bits&replaced != 0
		require.Equal(t, bits&stale != 0, f.Stale())
		require.Equal(t, bits&stale != 0 && bits&rests != 0, f.MustEnd(), "nothing was added")
		for _, row := range rows {
			if bits&row.all == row.all && bits&row.not == 0 {
				require.Equal(t, row.step, f.Next(), "%08b", bits)
				counts[row.step]++
				break
			}
		}
	}
	require.Len(t, counts, 5)
	require.True(t, Facts{present: one}.MustEnd(), "something was added")
}

// Items that droid ignores neither ask for trust nor replace droid.
func TestNextOfWhatIsNotTaken(t *testing.T) {
	p := Project{Layer: projectconfig.Layer{Items: []projectconfig.Item{{Kind: projectconfig.Preload}}}, Asks: true}
	none := func(l projectconfig.Layer) projectconfig.Layer { return l.Except(projectconfig.Preload) }
	require.Equal(t, StepSend, p.Facts(projectconfig.Layer{}, false, none).Next())
	require.False(t, p.Facts(projectconfig.Layer{}, false, none).Adds())
	require.True(t, p.Facts(projectconfig.Layer{}, false, func(l projectconfig.Layer) projectconfig.Layer { return l }).Adds())
}

// A yes covers only the items that were shown: if the items have changed by then, the new ones are shown, and not trusted.
func TestYesToWhatWasShown(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, server("x"))
	shown := k.Check(dir).Sums()
	setServers(t, dir, server("y"))
	for _, read := range [][]string{nil, shown} {
		answer, err := k.Answer(dir, "yes", read, nil)
		require.NoError(t, err)
		require.False(t, answer.Changed)
		require.True(t, answer.Shows)
		require.Contains(t, answer.Text, "`y`")
		require.Contains(t, answer.Text, "You had not been shown all of this")
		require.False(t, k.Check(dir).Trusted)
	}
	answer, err := k.Answer(dir, "yes", k.Check(dir).Sums(), nil)
	require.NoError(t, err)
	require.True(t, answer.Changed)
	require.True(t, k.Check(dir).Trusted)
}

// A project that cannot be read as a whole is not asked about, and no yes trusts it.
func TestNoYesToWhatCannotBeRead(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, "")
	setServers(t, dir, "{"+strings.Repeat(" ", config.MaxFile)+"}")
	p := k.Check(dir)
	require.False(t, p.HasUnread(), "it has a hash")
	require.True(t, p.Asks)
	require.NoError(t, k.Trust(p))
	require.True(t, k.Check(dir).Trusted)
	setServers(t, dir, strings.Repeat(" ", config.MaxFile)+"{}")
	require.False(t, k.Check(dir).Trusted, "another content of the same size and error")
	setServers(t, dir, "{"+strings.Repeat(" ", 65<<20)+"}")
	p = k.Check(dir)
	require.True(t, p.HasUnread())
	require.False(t, p.Asks || p.Trusted)
	require.NoError(t, k.Trust(p))
	require.False(t, k.Check(dir).Trusted)
	answer, err := k.Answer(dir, "yes", p.Sums(), nil)
	require.NoError(t, err)
	require.Contains(t, answer.Text, NotReadable)
	require.Contains(t, p.Refusal("it cannot."), NotReadable)
}
