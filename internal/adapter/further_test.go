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
	"droid-acp/internal/adapter/options"
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

// What is said with several refusals of a turn goes as one message, in order.
func TestWordsOfSeveralRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		answered := 0
		e := beginAs(t, formClient, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			saw = append(saw, p.Text)
			if p.Text != "tool" {
				return d.Say("", "Answer.")
			}
			// 0.215 and later ask for the other groups before the turn ends.
			for _, tool := range []fakedroid.Tool{touch, touch} {
				tool.ID = fmt.Sprint("t", answered)
				answered++
				if err := d.Use("", "", tool); !errors.Is(err, fakedroid.ErrRefused) {
					return err
				}
			}
			return fakedroid.ErrRefused
		}), fakedroid.WithVersion(fakedroid.V0225)))
		e.ask = refuseWithWords
		forms := 0
		e.onForm = func(p protocol.ElicitationParams) string {
			forms++
			return sayWhy(fmt.Sprint("reason ", forms))(p)
		}
		require.Equal(t, "end_turn", e.run("tool"))
		require.Equal(t, []string{"tool", "reason 1\n\nreason 2"}, saw)
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "user:"))
	})
}

// A follow-up that droid has already runs before the words; each prompt ends once, and the
// first one behind its words.
func TestWordsBehindAFollowUp(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		var saw []string
		e := beginAs(t, formClient, playing(toolOrAnswer(&saw, touch), v))
		e.ask = refuseWithWords
		e.onForm = func(p protocol.ElicitationParams) string {
			time.Sleep(time.Second)
			return sayWhy("no")(p)
		}
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first, second := e.prompt("tool"), e.prompt("second")
		require.Equal(t, "end_turn", ended(e.await(second)))
		require.Equal(t, "end_turn", ended(e.await(first)))
		require.Equal(t, []string{"tool", "refused", "second", "no"}, saw)
		var ends []string
		for _, m := range e.received() {
			if ended(m) == "end_turn" {
				ends = append(ends, string(m.ID))
			}
		}
		require.Equal(t, []string{second, first}, ends)
	})
}

// A cancel while the model answers the words ends the prompt, once.
func TestCancelAfterTheWords(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginAs(t, formClient, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "tool" {
				return d.Use("", "Tool. ", touch)
			}
			if err := d.Say("", "I see."); err != nil {
				return err
			}
			return d.Silence()
		}), v))
		e.ask, e.onForm = refuseWithWords, sayWhy("no")
		id := e.prompt("tool")
		e.until("the words are answered", func() bool { return strings.Contains(strings.Join(e.updates(), "\n"), "I see.") })
		_, over := e.answered(id)
		require.False(t, over)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "end "))
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
