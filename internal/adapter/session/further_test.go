package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/render"
	"droid-acp/internal/testing/fakedroid"
)

func sayWhy(text string) func(protocol.ElicitationParams) string {
	return func(protocol.ElicitationParams) string {
		return fmt.Sprintf(`{"action":"accept","content":{"why":%q}}`, text)
	}
}

// refuseWithWords picks the option that has the user say why.
func refuseWithWords(p permission) string {
	for _, o := range p.Options {
		if o.OptionID == render.RefuseWithTextOption {
			return o.OptionID
		}
	}
	return "cancel"
}

// toolOrAnswer is a script that asks for permission if a prompt begins with "tool", and answers all others. saw collects the model's input.
func toolOrAnswer(saw *[]string, tools ...fakedroid.Tool) fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		*saw = append(*saw, p.Text)
		if !strings.HasPrefix(p.Text, "tool") {
			return d.Say("", "Answer to "+p.Text)
		}
		if err := d.Use("", "Tool. ", tools...); err != nil {
			if errors.Is(err, fakedroid.ErrRefused) {
				*saw = append(*saw, "refused")
			}
			return err
		}
		return d.Say("", "Done.")
	})
}

// An open form ends with its turn and with its client: droid is answered "cancel" once, the model receives nothing, and the choice does not
// come back.
func TestFormThatIsLeftOpen(t *testing.T) {
	for name, form := range map[string]struct {
		client  string
		v       fakedroid.Version
		tool    fakedroid.Tool
		mode    string
		answers func(permission) string
		ends    []string
	}{
		"plan":              {"agent-shell", fakedroid.V0225, plan, "spec", func(permission) string { return render.EditOption }, []string{"cancel"}},
		"why it is refused": {"zed", fakedroid.V0225, touch, "normal", refuseWithWords, []string{"cancel", "the client goes"}},
		"the same, 0.99":    {"zed", fakedroid.V099, touch, "normal", refuseWithWords, []string{"cancel"}},
	} {
		for _, end := range form.ends {
			t.Run(name+" "+end, inBubble(func(t *testing.T) {
				var told strings.Builder
				var saw []string
				e := beginNamed(t, form.client, formClient, func(int) (*droid.Client, error) {
					return tappedDroid(func(line []byte) { told.Write(line) }, toolOrAnswer(&saw, form.tool), fakedroid.WithVersion(form.v), fakedroid.WithMode(form.mode)), nil
				})
				e.ask = form.answers
				id := e.prompt("tool")
				require.Contains(t, methods(e), "elicitation/create")
				if end == "cancel" {
					e.cancel()
					require.Equal(t, "cancelled", ended(e.await(id)))
					require.Contains(t, methods(e), "$/cancel_request")
					require.Equal(t, "end_turn", e.run("next"))
					require.Equal(t, "next", saw[len(saw)-1])
					require.NotContains(t, strings.Join(e.updates(), "\n"), "user:")
				} else {
					e.close()
				}
				require.Equal(t, 1, e.count("session/request_permission"))
				require.Equal(t, 1, strings.Count(told.String(), `"selectedOption":"cancel"`))
				require.Equal(t, 1, strings.Count(told.String(), "selectedOption"))
			}))
		}
	}
}

// If droid dies after the rejection, or with the user's text, or does not accept the text, the prompt fails once; the next prompt works.
func TestDroidFailsOverTheWords(t *testing.T) {
	for _, at := range []string{"tool", "no", "refused"} {
		versions(t, func(t *testing.T, v fakedroid.Option) {
			deaths, sent := 0, 0
			refuse := fakedroid.WithAnswer("droid.add_user_message", func(map[string]any) (any, string) {
				if sent++; sent == 2 && at == "refused" {
					return nil, "no room"
				}
				return nil, ""
			})
			e := beginAs(t, formClient, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
				if p.Text == "tool" {
					if err := d.Use("", "Tool. ", touch); !errors.Is(err, fakedroid.ErrRefused) || at != "tool" {
						return err
					}
				}
				if p.Text == at {
					deaths++
					return &fakedroid.Death{Code: 1}
				}
				return d.Say("", "Answer.")
			}), v, refuse, fakedroid.WithSessions(new(fakedroid.Sessions))))
			e.ask, e.onForm = refuseWithWords, sayWhy("no")
			answer := e.await(e.prompt("tool"))
			require.NotNil(t, answer.Error)
			got := strings.Join(e.updates(), "\n")
			if at == "refused" {
				require.Contains(t, ended(answer), "no room")
			} else {
				require.Equal(t, at == "tool", strings.Contains(got, "What you said with your refusal did not reach the model: no"), got)
				require.Equal(t, at == "no", strings.Contains(got, "user: no"), got)
			}
			require.Equal(t, "end_turn", e.run("again"))
			require.Equal(t, at != "refused", deaths == 1)
		})
	}
}
