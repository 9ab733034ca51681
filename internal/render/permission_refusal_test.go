package render

import (
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// A refusal with a text is a refusal, whatever the result of the form; the text is passed on only if the user entered one.
func TestRefuseWithText(t *testing.T) {
	const choice = "proceed_once edit_plan cancel refuse_with_words"
	refused := Decision{Option: stream.OptionCancel}
	for name, tc := range map[string]struct {
		answers []string
		asked   []string
		want    Decision
	}{
		"approved":      {[]string{"proceed_once"}, []string{choice}, Decision{Option: "proceed_once"}},
		"refused":       {[]string{"cancel"}, []string{choice}, refused},
		"said":          {[]string{RefuseWithTextOption, `{"action":"accept","content":{"why":" use b.go\n"}}`}, []string{choice, "form"}, Decision{Option: stream.OptionCancel, Words: "use b.go"}},
		"empty":         {[]string{RefuseWithTextOption, `{"action":"accept","content":{"why":" "}}`}, []string{choice, "form"}, refused},
		"no text":       {[]string{RefuseWithTextOption, `{"action":"accept","content":{"why":7}}`}, []string{choice, "form"}, refused},
		"no content":    {[]string{RefuseWithTextOption, `{"action":"accept"}`}, []string{choice, "form"}, refused},
		"declined":      {[]string{RefuseWithTextOption, `{"action":"decline","content":{"why":"x"}}`}, []string{choice, "form"}, refused},
		"closed":        {[]string{RefuseWithTextOption, `{"action":"cancel"}`}, []string{choice, "form"}, refused},
		"of the future": {[]string{RefuseWithTextOption, `{"action":"_later","content":{"why":"x"}}`}, []string{choice, "form"}, refused},
		"no form":       {[]string{RefuseWithTextOption, `null`}, []string{choice, "form"}, refused},
		"edited first": {[]string{EditOption, `{}`, RefuseWithTextOption, `{"action":"accept","content":{"why":"no"}}`},
			[]string{choice, "form", choice, "form"}, Decision{Option: stream.OptionCancel, Words: "no"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHarness(formed).Permission(planAsked(), nil, PermissionContext{EditedPlan: true, Words: true})
			require.Equal(t, tc.asked, answering(t, p, tc.answers...))
			require.Equal(t, tc.want, p.Decision())
		})
	}
}

// The form names the refused request, and its option comes after droid's refusal.
func TestRefusalForm(t *testing.T) {
	p := newHarness(formed).Permission(planAsked(), nil, PermissionContext{Words: true})
	step, _ := p.Next()
	require.Equal(t, []protocol.PermissionOption{
		{OptionID: stream.OptionCancel, Name: "No, keep planning", Kind: acp.PermissionOptionKindRejectOnce},
		{OptionID: RefuseWithTextOption, Name: "No, and say why", Kind: acp.PermissionOptionKindRejectOnce},
	}, step.Choice.Options[1:])
	require.True(t, p.OptionChosen(RefuseWithTextOption))
	step, _ = p.Next()
	require.Nil(t, step.Choice)
	require.Equal(t, "t", step.Form.ToolCallID)
	require.EqualValues(t, "Refused: "+p.shown.Title, step.Form.Message)
	require.Equal(t, []string{"why"}, step.Form.Schema.Required)
}

// It is offered only where everything is there for it.
func TestRefuseWithTextNotOffered(t *testing.T) {
	for name, change := range map[string]func(*quirks.PermissionRequested, *protocol.ClientCapabilities, *PermissionContext){
		"the client has no forms": func(_ *quirks.PermissionRequested, c *protocol.ClientCapabilities, _ *PermissionContext) {
			c.Forms = false
		},
		"the client shows no names": func(_ *quirks.PermissionRequested, c *protocol.ClientCapabilities, _ *PermissionContext) {
			c.ShowsOptionNames = false
		},
		"no prompt takes them": func(_ *quirks.PermissionRequested, _ *protocol.ClientCapabilities, s *PermissionContext) {
			s.Words = false
		},
		"droid offers no refusal": func(ev *quirks.PermissionRequested, _ *protocol.ClientCapabilities, _ *PermissionContext) {
			ev.Options = ev.Options[:1]
		},
	} {
		ev, client, set := planAsked(), formed, PermissionContext{Words: true}
		change(&ev, &client, &set)
		asked := answering(t, newHarness(client).Permission(ev, nil, set), "x")
		require.NotContains(t, asked[0], RefuseWithTextOption, name)
	}
}
