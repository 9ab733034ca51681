package adapter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/show"
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
		if o.OptionID == show.WordsOption {
			return o.OptionID
		}
	}
	return "cancel"
}

// toolOrAnswer is a script that asks for permission at a prompt that begins with "tool", and
// answers all others. saw collects what the model saw.
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

// A cancel while the form is open takes it back and says nothing to the model.
func TestCancelWhileTheUserSaysWhy(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		var saw []string
		e := beginAs(t, formClient, playing(toolOrAnswer(&saw, touch), v))
		e.ask = refuseWithWords
		id := e.prompt("tool")
		e.until("a form is open", func() bool { return strings.Contains(strings.Join(methods(e), " "), "elicitation/create") })
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Contains(t, methods(e), "$/cancel_request")
		require.Equal(t, "end_turn", e.run("next"))
		require.Equal(t, "next", saw[len(saw)-1])
		require.NotContains(t, strings.Join(e.updates(), "\n"), "user:")
	})
}

// A droid that dies behind the refusal, or with the words, fails the prompt once; the
// next prompt starts it again.
func TestDroidDiesOverTheWords(t *testing.T) {
	for _, at := range []string{"tool", "no"} {
		versions(t, func(t *testing.T, v fakedroid.Option) {
			deaths := 0
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
			}), v, fakedroid.WithSessions(new(fakedroid.Sessions))))
			e.ask, e.onForm = refuseWithWords, sayWhy("no")
			answer := e.await(e.prompt("tool"))
			require.NotNil(t, answer.Error)
			got := strings.Join(e.updates(), "\n")
			require.Equal(t, at == "tool", strings.Contains(got, "What you said with your refusal did not reach the model: no"), got)
			require.Equal(t, at == "no", strings.Contains(got, "user: no"), got)
			require.Equal(t, "end_turn", e.run("again"))
			require.Equal(t, 1, deaths)
		})
	}
}

// A client that goes while the form is open leaves a refusal behind.
func TestClientGoesWhileTheUserSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		var saw []string
		e := beginAs(t, formClient, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { told.Write(line) }, toolOrAnswer(&saw, touch)), nil
		})
		e.ask = refuseWithWords
		e.prompt("tool")
		e.until("a form is open", func() bool { return strings.Contains(strings.Join(methods(e), " "), "elicitation/create") })
		e.close()
		require.NotContains(t, told.String(), "proceed")
		require.Equal(t, 1, strings.Count(told.String(), `"selectedOption":"cancel"`)) // and an interrupt, in either order
	})
}

// A user who takes their time keeps the prompt open.
func TestSlowWords(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		var saw []string
		e := beginAs(t, formClient, playing(toolOrAnswer(&saw, touch), v))
		e.ask = refuseWithWords
		e.onForm = func(p protocol.ElicitationParams) string {
			time.Sleep(time.Minute)
			return sayWhy("late")(p)
		}
		require.Equal(t, "end_turn", e.run("tool"))
		require.Equal(t, []string{"tool", "refused", "late"}, saw)
	})
}

// A message that droid does not take fails the prompt, which has its one end.
func TestWordsThatDroidRefuses(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		var saw []string
		sent := 0
		e := beginAs(t, formClient, playing(toolOrAnswer(&saw, touch), v, fakedroid.WithAnswer("droid.add_user_message", func(map[string]any) (any, string) {
			if sent++; sent == 2 {
				return nil, "no room"
			}
			return nil, ""
		})))
		e.ask, e.onForm = refuseWithWords, sayWhy("no")
		answer := e.await(e.prompt("tool"))
		require.NotNil(t, answer.Error)
		require.Contains(t, answer.Error.Message+string(answer.Error.Data), "no room")
		require.Equal(t, "end_turn", e.run("next"))
	})
}
