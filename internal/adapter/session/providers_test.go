package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/gateway"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/workspace/trust"
)

const (
	providerKey = "s3cr3t"
	setMain     = `{"providerId":"main","apiType":"openai","baseUrl":"https://gw.example.com/v1","headers":{"Authorization":"Bearer ` + providerKey + `"}}`
	setOther    = `{"providerId":"main","apiType":"openai","baseUrl":"https://other.example.com/v1","headers":{"Authorization":"Bearer ` + providerKey + `"}}`
)

// lists makes the gateways of an editor's agent list these models.
func (e *editor) lists(names ...string) {
	e.agent.Provider.List = func(*gateway.Gateway, context.Context) (gateway.List, error) {
		return gateway.List{Names: names}, nil
	}
}

// models returns the IDs of the models that each started droid got.
func (e *editor) models() (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, models := range e.customModels {
		ids := []string{}
		for _, m := range models {
			ids = append(ids, m.ID)
		}
		all = append(all, strings.Join(ids, " "))
	}
	return all
}

func (e *editor) provider() (current string) {
	answer := e.call("providers/list", `{}`)
	require.Nil(e.t, answer.Error)
	require.NotContains(e.t, string(answer.Result), providerKey)
	var r struct {
		Providers []struct {
			ProviderID string
			Supported  []string
			Required   *bool
			Current    json.RawMessage
		}
	}
	require.NoError(e.t, json.Unmarshal(answer.Result, &r))
	require.Len(e.t, r.Providers, 1)
	require.Equal(e.t, "main", r.Providers[0].ProviderID)
	require.Equal(e.t, []string{"openai", "anthropic"}, r.Providers[0].Supported)
	require.Equal(e.t, new(false), r.Providers[0].Required)
	return string(r.Providers[0].Current)
}

// providers/set replaces all, headers are never given back, an unknown provider can be disabled.
func TestProviders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := connect(t, playing(says("hi")))
		e.lists("a")
		require.Empty(t, e.provider(), "absent until it is set")
		answer := e.call("providers/set", setMain)
		require.Nil(t, answer.Error)
		require.JSONEq(t, `{}`, string(answer.Result))
		require.JSONEq(t, `{"apiType":"openai","baseUrl":"https://gw.example.com/v1"}`, e.provider())
		for params, says := range map[string]string{
			`{"providerId":"other","apiType":"openai","baseUrl":"https://h"}`:                                "unknown providerId",
			`{"providerId":"main","apiType":"vertex","baseUrl":"https://h"}`:                                 "unknown apiType",
			`{"providerId":"main","apiType":"openai","baseUrl":"http://h"}`:                                  "plain http",
			`{"providerId":"main","apiType":"openai","baseUrl":"https://u:` + providerKey + `@h"}`:           "password",
			`{"providerId":"main","apiType":"openai","baseUrl":"https://h","headers":"` + providerKey + `"}`: "headers",
			`{"providerId":"main","apiType":"openai"}`:                                                       "absolute URL",
		} {
			answer := e.call("providers/set", params)
			require.Equal(t, -32602, answer.Error.Code, params)
			require.Contains(t, allOf(answer.Error), says)
			require.NotContains(t, allOf(answer.Error), providerKey)
		}
		require.NotEmpty(t, e.provider(), "a refused request changes nothing")
		require.Nil(t, e.call("providers/disable", `{"providerId":"other"}`).Error)
		require.NotEmpty(t, e.provider())
		require.Nil(t, e.call("providers/disable", `{"providerId":"main"}`).Error)
		require.Empty(t, e.provider())
		require.Nil(t, e.call("providers/disable", `{"providerId":"main"}`).Error)
	})
}

// A provider whose gateway fails is not set; one without a list of models is set, and the user is shown what to do.
func TestProviderWithoutModels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		e.agent.Provider.List = func(*gateway.Gateway, context.Context) (gateway.List, error) {
			return gateway.List{}, errors.New("it answered with HTTP 502")
		}
		answer := e.call("providers/set", setMain)
		require.Equal(t, -32603, answer.Error.Code)
		require.Contains(t, allOf(answer.Error), "The provider was not set: it answered with HTTP 502.")
		require.Empty(t, e.provider())
		e.agent.Provider.List = func(*gateway.Gateway, context.Context) (gateway.List, error) {
			return gateway.List{}, &gateway.NoListError{Status: 403}
		}
		answer = e.call("providers/set", setMain)
		require.Nil(t, answer.Error)
		require.Contains(t, string(answer.Result), "Renew them in the editor")
		require.NotEmpty(t, e.provider())
		require.Equal(t, "end_turn", e.run("hello"))
		require.Contains(t, e.told(), "Renew them in the editor")
	})
	t.Setenv(droid.EnvSettings, "/x.json")
	bubble(t, func(t *testing.T) {
		e := connect(t, playing(says("hi")))
		answer := e.call("providers/set", setMain)
		require.Contains(t, allOf(answer.Error), "$"+droid.EnvSettings+" is set")
	})
}

// A droid that was started before the provider was set serves no session, and an idle one gets no other prompt.
func TestProviderReplacesDroids(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var store fakedroid.Sessions
		e := connect(t, playing(says("hi"), fakedroid.WithSessions(&store)))
		synctest.Wait()
		require.Equal(t, []string{""}, e.models(), "one was started ahead")
		e.lists("a", "b")
		require.Nil(t, e.call("providers/set", setMain).Error)
		synctest.Wait()
		require.Equal(t, []string{"", "custom:main:a custom:main:b"}, e.models(), "another one takes its place")
		e.beginSession()
		require.Len(t, e.models(), 2)
		require.Nil(t, e.call("providers/set", setMain).Error)
		require.False(t, e.parked(), "the same once more changes nothing")
		e.lists("c")
		require.Nil(t, e.call("providers/set", setOther).Error)
		require.True(t, e.parked())
		require.Contains(t, e.offeredModels(), "custom:main:c")
		require.Contains(t, e.offeredModels(), "custom:Fake-0", "the user's own stay")
		require.NotContains(t, e.offeredModels(), "custom:main:a")
		require.Equal(t, "end_turn", e.run("hello"))
		require.Equal(t, "custom:main:c", e.models()[len(e.models())-1])
		require.Nil(t, e.call("providers/disable", `{"providerId":"main"}`).Error)
		require.True(t, e.parked())
		require.NotContains(t, e.offeredModels(), "custom:main:")
		require.Equal(t, "end_turn", e.run("hello"))
		require.Empty(t, e.models()[len(e.models())-1])

		require.Nil(t, e.call("providers/set", setMain).Error)
		client, _, err := e.agent.Launcher.LaunchAlone(t.Context(), "/workspace", launch.Open{ID: e.session})
		require.NoError(t, err)
		client.Kill()
		<-client.Exited()
		require.Contains(t, e.dirs, "", "a droid only copies or names a session")
		for i, models := range e.models() {
			require.True(t, models == "" || e.dirs[i] != "", "and gets no keys for that")
		}
	})
}

// A prompt that is being prepared, or droid for it, does not go to a droid whose provider is taken back meanwhile.
func TestProviderTakenBackDuringAPreparation(t *testing.T) {
	for _, starts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var store fakedroid.Sessions
			var mu sync.Mutex
			var got []int // the droids that got prompts
			e := connect(t, func(n int) (*droid.Client, error) {
				return tappedDroid(func(line []byte) {
					switch {
					case bytes.Contains(line, []byte("add_user_message")):
						mu.Lock()
						defer mu.Unlock()
						got = append(got, n)
					case starts && bytes.Contains(line, []byte("load_session")):
						time.Sleep(time.Second)
					}
				}, says("hi"), fakedroid.WithSessions(&store)), nil
			})
			home := t.TempDir()
			e.agent.Config.Trust = trust.New(trust.Options{Home: home, File: filepath.Join(home, "trust.json")})
			e.lists("a")
			require.Nil(t, e.call("providers/set", setMain).Error)
			e.beginSession()
			if starts {
				e.inside(func(s *session.Session) { s.ReplaceDroid() })
			} else {
				e.hanging.begin("Trust.Look")
			}
			id := e.prompt("hello")
			e.settle()
			require.Nil(t, e.call("providers/disable", `{"providerId":"main"}`).Error)
			e.hanging.revive()
			require.Equal(t, "end_turn", ended(e.await(id)))
			mu.Lock()
			defer mu.Unlock()
			require.Len(t, got, 1)
			require.Empty(t, e.models()[got[0]-1])
		})
	}
}

// offeredModels returns the last list of options that the client was sent.
func (e *editor) offeredModels() (list string) {
	for _, m := range e.received() {
		if m.Method == "session/update" && strings.Contains(string(m.Params), "config_option_update") {
			list = string(m.Params)
		}
	}
	return list
}

// A working droid ends its turn with the previous provider, and then exits; one with a command in the background exits before the next
// prompt.
func TestProviderOfABusySession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var store fakedroid.Sessions
		e := connect(t, func(n int) (*droid.Client, error) {
			return fakeDroid(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				<-release
				return d.Say("", fmt.Sprint("from droid ", n))
			}), fakedroid.WithSessions(&store)), nil
		})
		e.beginSession()
		id := e.prompt("work")
		synctest.Wait()
		e.lists("a")
		require.Nil(t, e.call("providers/set", setMain).Error)
		require.False(t, e.parked(), "it works")
		close(release)
		require.Equal(t, "end_turn", ended(e.await(id)))
		require.Contains(t, e.told(), "from droid 1")
		synctest.Wait()
		require.True(t, e.parked(), "it keeps the keys no longer than it works")
	})
	bubble(t, func(t *testing.T) {
		var clients []*droid.Client
		var store fakedroid.Sessions
		e := connect(t, func(int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(says("hi"), fakedroid.WithSessions(&store)))
			return clients[len(clients)-1], nil
		})
		e.beginSession()
		clients[0].StubChildren(func() bool { return true })
		e.lists("a")
		require.Nil(t, e.call("providers/set", setMain).Error)
		require.False(t, e.parked(), "a command runs in the background")
		require.Equal(t, "end_turn", e.run("hello"))
		require.NotNil(t, clients[0].ExitError(), "the next prompt does not go to the old gateway")
	})
}

// Requests to a session wait while the gateway lists its models; other requests do not.
func TestSessionBehindProvidersSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := connect(t, playing(says("hi")))
		proceed := make(chan struct{})
		e.agent.Provider.List = func(*gateway.Gateway, context.Context) (gateway.List, error) {
			<-proceed
			return gateway.List{Names: []string{"a"}}, nil
		}
		set := e.request("providers/set", setMain)
		opened := e.request("session/new", `{"cwd":"/elsewhere","mcpServers":[]}`)
		e.provider()
		_, done := e.answered(opened)
		require.False(t, done)
		close(proceed)
		require.Nil(t, e.await(set).Error)
		e.session = e.sessionOf(e.await(opened))
		require.Equal(t, "custom:main:a", e.models()[len(e.models())-1])
		starts := len(e.models())
		require.Equal(t, "end_turn", e.run("hello"))
		require.Len(t, e.models(), starts, "that droid is not an old one")
	})
}

// A session whose model is the provider's says so when the provider is gone, and sends no prompt until another model is chosen.
func TestSessionWithoutItsProvider(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var store fakedroid.Sessions
		e := connect(t, playing(says("hi"), fakedroid.WithSessions(&store)))
		e.lists("a")
		require.Nil(t, e.call("providers/set", setMain).Error)
		e.beginSession()
		e.inside(func(s *session.Session) { s.OptionState().Offered(e.agent.Provider.Offered(s.OptionState().Models())) }) // as droid reports them
		require.Nil(t, e.set("model", "custom:main:a").Error)
		require.Equal(t, "end_turn", e.run("hello"))
		require.Nil(t, e.call("providers/disable", `{"providerId":"main"}`).Error)
		e.until("the notice", func() bool {
			return strings.Contains(e.told(), `The model "a" of this session is one of the provider "main", which the editor has not set.`)
		})
		failed := e.await(e.prompt("more")).Error
		require.NotNil(t, failed)
		require.Equal(t, -32603, failed.Code)
		require.Contains(t, allOf(failed), "The prompt was not sent.")
		require.Contains(t, allOf(failed), "custom:Fake-0", "a model that is there")
		require.Nil(t, e.set("model", "custom:Fake-0").Error)
		require.Equal(t, "end_turn", e.run("more"))
	})
}

// auth/status reports no more than is known.
func TestAuthStatusAndLogout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var store fakedroid.Sessions
		e := begin(t, playing(says("hi"), fakedroid.WithSessions(&store)))
		status := func() string {
			answer := e.call("auth/status", `{}`)
			require.Nil(t, answer.Error)
			return string(answer.Result)
		}
		require.JSONEq(t, `{"state":"unknown"}`, status())
		e.lists("a")
		require.Nil(t, e.call("providers/set", `{"providerId":"main","apiType":"openai","baseUrl":"http://localhost:1"}`).Error)
		require.JSONEq(t, `{"state":"not_required","accounts":[{"label":"provider main at localhost:1","active":true}]}`, status())
		require.Nil(t, e.call("providers/set", setMain).Error)
		require.JSONEq(t, `{"state":"authenticated","accounts":[{"label":"provider main at gw.example.com","active":true}]}`, status())
		answer := e.call("logout", `{}`)
		require.Nil(t, answer.Error)
		require.Contains(t, string(answer.Result), "are forgotten")
		require.Contains(t, string(answer.Result), "droid's own login is not this agent's to end")
		require.Empty(t, e.provider())
		require.JSONEq(t, `{"state":"unknown"}`, status())
		require.Contains(t, string(e.call("logout", `{}`).Result), "No keys were given")
		require.Equal(t, "end_turn", e.run("hello"))
		require.Contains(t, e.told(), "droid's own login is not this agent's to end")
	})
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			return d.Fail("error", "No access token available", "Authentication failed.")
		})))
		require.Equal(t, "error -32000", short(e.await(e.prompt("hello"))))
		require.JSONEq(t, `{"state":"unauthenticated"}`, string(e.call("auth/status", `{}`).Result))
	})
}

// A cancelled providers/set changes and delays nothing.
func TestCancelledProvidersSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := connect(t, playing(says("hi")))
		e.agent.Provider.List = func(_ *gateway.Gateway, ctx context.Context) (gateway.List, error) {
			<-ctx.Done()
			return gateway.List{}, ctx.Err()
		}
		id := e.request("providers/set", setMain)
		time.Sleep(time.Second)
		e.notify("$/cancel_request", `{"requestId":`+id+`}`)
		require.Equal(t, -32800, e.await(id).Error.Code)
		e.beginSession()
		require.Empty(t, e.provider())
	})
}

// session/options has the models of the provider of now.
func TestOptionsOfAProvider(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := connect(t, playing(says("hi")))
		options := func() (starts int) {
			require.Nil(t, e.call("session/options", `{"cwd":"/workspace"}`).Error)
			return len(e.models())
		}
		before := options()
		require.Equal(t, before, options(), "it is remembered")
		e.lists("a")
		require.Nil(t, e.call("providers/set", setMain).Error)
		synctest.Wait()
		spares := len(e.models())
		require.Equal(t, spares+1, options())
		require.Equal(t, "custom:main:a", e.models()[spares])
	})
}

// The older way to set a gateway does the same, for clients that declare it.
func TestGatewayByAuthenticate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := open(t, playing(says("hi")))
		answer := e.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"auth":{"_meta":{"gateway":true}}}}`)
		require.Contains(t, string(answer.Result), `{"id":"gateway","name":`)
		require.Contains(t, string(answer.Result), `"_meta":{"gateway":{"protocol":"anthropic"}}`)
		e.lists("a")
		for method, apiType := range map[string]string{"gateway": "openai", "gateway-anthropic": "anthropic"} {
			require.Nil(t, e.call("authenticate", `{"methodId":"`+method+`","_meta":{"gateway":{"baseUrl":"https://gw","headers":{"a":"`+providerKey+`"}}}}`).Error)
			require.JSONEq(t, `{"apiType":"`+apiType+`","baseUrl":"https://gw"}`, e.provider())
		}
		for _, params := range []string{`{"methodId":"gateway"}`, `{"methodId":"gateway","_meta":{"gateway":{"baseUrl":"http://gw"}}}`} {
			require.Equal(t, -32602, e.call("authenticate", params).Error.Code)
		}
		require.Nil(t, e.call("logout", `{}`).Error)
		require.Empty(t, e.provider())
	})
	bubble(t, func(t *testing.T) {
		e := open(t, playing(says("hi")))
		require.NotContains(t, string(e.call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`).Result), "gateway")
	})
}

// An editor that goes while a gateway is asked does not wait for it.
func TestProvidersSetEndsWithTheEditor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := connect(t, playing(says("hi")))
		e.agent.Provider.List = func(_ *gateway.Gateway, ctx context.Context) (gateway.List, error) {
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
			return gateway.List{}, errors.New("no answer")
		}
		e.request("providers/set", setMain)
		e.request("session/new", `{"cwd":"/elsewhere","mcpServers":[]}`)
		synctest.Wait()
		began := time.Now()
		e.close()
		<-e.served
		require.Less(t, time.Since(began), 5*time.Second)
	})
}
