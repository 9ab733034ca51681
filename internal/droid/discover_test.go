package droid

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An answer with the texts of all skills is decoded once, as long as it stays the same.
func TestSkillsAreDecodedOnce(t *testing.T) {
	answer := func(name string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"skills":[{"name":%q,"enabled":true,"text":%q}]}`, name, strings.Repeat("text ", 100_000)))
	}
	var s skillList
	list := func(raw json.RawMessage) string {
		skills, err := s.decode(raw)
		require.NoError(t, err)
		require.Len(t, skills, 1)
		return skills[0].Name
	}
	one, other := answer("one"), answer("other")
	require.Equal(t, "one", list(one))
	require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = s.decode(one) }))
	require.Equal(t, "one", list(one))
	require.Equal(t, "other", list(other), "another answer is another list")
	require.Equal(t, "one", list(one))
	_, err := s.decode(json.RawMessage(`{"skills":7}`))
	require.Error(t, err)
	require.Equal(t, "one", list(one), "a broken answer is not taken")
}

func TestSkills(t *testing.T) {
	c, p := newPeer(t, young)
	ctx := testContext(t)
	for range 2 {
		var skills []Skill
		done := async(func() (err error) { skills, err = c.Skills(ctx); return err })
		p.reply(p.expect("droid.list_skills").ID, `{"skills":[{"name":"a"}]}`)
		require.NoError(t, <-done)
		require.Equal(t, []Skill{{Name: "a"}}, skills)
	}
	done := async(func() error { _, err := c.Skills(ctx); return err })
	p.refuse(fmt.Sprintf("%q", p.expect("droid.list_skills").ID), -32601, "no")
	require.ErrorContains(t, <-done, "list_skills: droid: no")
}
