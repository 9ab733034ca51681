package gateway

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const secret = "s3cr3t"

var keys = map[string]string{"Authorization": "Bearer " + secret, "X-Api-Key": secret}

func newGateway(t *testing.T, apiType, url string) *Gateway {
	t.Helper()
	g, err := New(apiType, url, keys)
	require.NoError(t, err)
	return g
}

func TestRefusedGateways(t *testing.T) {
	const ok = "https://models.example.com/v1"
	for _, tc := range []struct {
		apiType, url string
		headers      map[string]string
		says         string
	}{
		{"bedrock", ok, nil, "unknown apiType"},
		{"", ok, nil, "unknown apiType"},
		{OpenAI, "", nil, "no absolute URL"},
		{OpenAI, "models.example.com", nil, "no absolute URL"},
		{OpenAI, "https://" + secret + "\x7f", nil, "no absolute URL"},
		{OpenAI, "https://h/${HOME}", nil, "no absolute URL"},
		{OpenAI, "https://h/" + strings.Repeat("a", maxURL), nil, "no absolute URL"},
		{OpenAI, "https://user:" + secret + "@models.example.com", nil, "user name or a password"},
		{OpenAI, "https://models.example.com/?key=" + secret, nil, "query"},
		{OpenAI, "https://models.example.com/#" + secret, nil, "fragment"},
		{OpenAI, "ftp://models.example.com/", nil, "neither https nor http"},
		{OpenAI, "http://models.example.com/v1", nil, "plain http"},
		{OpenAI, "http://127.0.0.1.example.com/v1", nil, "plain http"},
		{OpenAI, "http://localhost.example.com/v1", nil, "plain http"},
		{OpenAI, ok, map[string]string{"a b": secret}, "header name"},
		{OpenAI, ok, map[string]string{"": secret}, "header name"},
		{OpenAI, ok, map[string]string{"A": secret + "\r\nB: c"}, "control characters"},
		{OpenAI, ok, map[string]string{"A": strings.Repeat(secret, maxHeaderBytes)}, "more than"},
	} {
		_, err := New(tc.apiType, tc.url, tc.headers)
		require.ErrorContains(t, err, tc.says, tc.url)
		require.NotContains(t, err.Error(), secret)
	}
	for _, url := range []string{ok, "http://127.0.0.1:1/v1", "http://[::1]:1", "http://localhost:11434"} {
		newGateway(t, Anthropic, url)
	}
}

// No verb of fmt prints the headers.
func TestGatewayPrintsNoKeys(t *testing.T) {
	g := newGateway(t, OpenAI, "https://models.example.com/v1")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		require.Equal(t, "provider main at models.example.com", fmt.Sprintf(verb, g))
	}
	encoded, err := json.Marshal(g)
	require.NoError(t, err)
	require.NotContains(t, string(encoded), secret)
}

// lists serves what answers returns for each path, and records who asked.
func lists(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.String())
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// at answers one path, and others with 404.
func at(path, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(body))
	}
}

// The API is where the list is, with and without /v1 in the address.
func TestModelsTellWhereTheAPIIs(t *testing.T) {
	const two = `{"object":"list","data":[{"id":"a"},{"id":"org/b"},{"id":"a"}]}`
	for _, tc := range []struct{ apiType, set, serves, base string }{
		{OpenAI, "", "/v1/models", "/v1"},
		{OpenAI, "/v1", "/v1/models", "/v1"},
		{OpenAI, "/v1/", "/v1/models", "/v1"},
		{OpenAI, "/openai", "/openai/models", "/openai"},
		{OpenAI, "/openai", "/openai/v1/models", "/openai/v1"},
		{Anthropic, "", "/v1/models", ""},
		{Anthropic, "/v1", "/v1/models", ""},
		{Anthropic, "/claude", "/claude/v1/models", "/claude"},
	} {
		url, _ := lists(t, at(tc.serves, two))
		g := newGateway(t, tc.apiType, url+tc.set)
		list, err := g.Models(context.Background())
		require.NoError(t, err, tc)
		require.Equal(t, []string{"a", "org/b"}, list.Names)
		models := g.CustomModels(list)
		require.Equal(t, url+tc.base, models[0].BaseURL, tc)
		require.Equal(t, "custom:main:org/b", models[1].ID)
		name, ok := Provides(models[1].ID)
		require.True(t, ok && name == "org/b")
		require.Equal(t, secret, models[0].ExtraHeaders["X-Api-Key"])
		require.NotContains(t, models[0].APIKey, "$", "droid would replace it")
	}
	_, ok := Provides("custom:Mine-0")
	require.False(t, ok)
}

// The headers go with the request for the list; a gateway that does not get them gives none.
func TestModelsOfAGatewayThatWantsHeaders(t *testing.T) {
	url, _ := lists(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret || r.Header.Get("x-api-key") != secret {
			http.Error(w, secret, http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"a"}]}`))
	})
	list, err := newGateway(t, OpenAI, url).Models(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, list.Names)
	g, err := New(OpenAI, url, nil)
	require.NoError(t, err)
	_, err = g.Models(context.Background())
	require.ErrorAs(t, err, new(*NoListError))
	require.ErrorContains(t, err, "refused the credentials of the editor (HTTP 401)")
	require.NotContains(t, err.Error(), secret)
}

func TestGatewaysWithoutAList(t *testing.T) {
	for _, tc := range []struct {
		answer func(http.ResponseWriter, *http.Request)
		noList bool
		says   string
	}{
		{http.NotFound, true, "has no list of models (HTTP 404 at"},
		{at("/v1/models", "<html>"), true, "has no list of models"},
		{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusBadGateway) }, false, "HTTP 502"},
		{at("/v1/models", ""), true, "has no list of models"},
		{at("/v1/models", `{"data":"none"}`), true, "has no list of models"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"data":[{"id":`)) // and the connection is cut
		}, false, "unexpected EOF"},
		{at("/v1/models", `{"error":{"message":"no such page"}}`), true, "has no list of models"},
		{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusTooManyRequests) }, false, "HTTP 429"},
		{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusRequestTimeout) }, false, "HTTP 408"},
		{func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":[{"id":"` + strings.Repeat("a", maxBytes) + `"}]}`))
		}, false, "longer than"},
	} {
		url, _ := lists(t, tc.answer)
		_, err := newGateway(t, OpenAI, url).Models(context.Background())
		require.ErrorContains(t, err, tc.says)
		require.Equal(t, tc.noList, asNoList(err))
		require.NotContains(t, err.Error(), secret)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 1)
	defer cancel()
	_, err := newGateway(t, OpenAI, "http://127.0.0.1:1").Models(ctx)
	require.ErrorContains(t, err, "did not answer")
}

func asNoList(err error) bool { _, ok := err.(*NoListError); return ok }

// A gateway that redirects to another host, or another scheme, gets no list: the other host would get the keys.
func TestKeysDoNotFollowRedirects(t *testing.T) {
	thief, stolen := lists(t, at("/v1/models", `{"data":[{"id":"a"}]}`))
	url, _ := lists(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief+"/v1/models", http.StatusTemporaryRedirect)
	})
	_, err := newGateway(t, OpenAI, url).Models(context.Background())
	require.ErrorContains(t, err, "another host")
	require.Empty(t, *stolen)
	url, _ = lists(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			_, _ = w.Write([]byte(`{"data":[{"id":"a"}]}`))
			return
		}
		http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
	})
	list, err := newGateway(t, OpenAI, url).Models(context.Background())
	require.NoError(t, err, "the same host")
	require.Equal(t, []string{"a"}, list.Names)
}

// Pages are read up to a bound, names that droid could not be given are left out.
func TestPagesOfModels(t *testing.T) {
	page := 0
	url, asked := lists(t, func(w http.ResponseWriter, r *http.Request) {
		page++
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"m%d"},{"id":"${HOME}"},{"id":"a\u202eb"},{"id":""},{"id":%q}],"has_more":true,"last_id":"m%d"}`, page, strings.Repeat("x", maxName+1), page)
	})
	list, err := newGateway(t, Anthropic, url).Models(context.Background())
	require.NoError(t, err)
	require.Len(t, list.Names, maxPages)
	require.Len(t, *asked, maxPages)
	require.Equal(t, "/v1/models?after_id=m1", (*asked)[1])
}

// An API of Anthropic's kind with a bearer token gets no placeholder as its key.
func TestBearerTokenForAnthropic(t *testing.T) {
	for _, tc := range []struct{ headers, want map[string]string }{
		{map[string]string{"authorization": "Bearer t"}, map[string]string{"authorization": "Bearer t", "x-api-key": "t"}},
		{map[string]string{"authorization": "Bearer t", "X-API-Key": "k"}, map[string]string{"authorization": "Bearer t", "X-API-Key": "k"}},
		{map[string]string{"a": "b"}, map[string]string{"a": "b"}},
	} {
		g, err := New(Anthropic, "https://h", tc.headers)
		require.NoError(t, err)
		require.Equal(t, tc.want, g.CustomModels(List{Names: []string{"a"}})[0].ExtraHeaders)
	}
}

// A certificate authority that droid trusts ($NODE_EXTRA_CA_CERTS) is trusted here, too, and no other.
func TestCertificateAuthorityOfDroid(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(at("/v1/models", `{"data":[{"id":"a"}]}`)))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	t.Setenv("NODE_EXTRA_CA_CERTS", "")
	_, err := newGateway(t, OpenAI, s.URL).Models(context.Background())
	require.ErrorContains(t, err, "certificate")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	t.Setenv("NODE_EXTRA_CA_CERTS", ca)
	list, err := newGateway(t, OpenAI, s.URL).Models(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, list.Names)
	t.Setenv("NODE_EXTRA_CA_CERTS", ca+".gone")
	_, err = newGateway(t, OpenAI, s.URL).Models(context.Background())
	require.ErrorContains(t, err, "NODE_EXTRA_CA_CERTS")
}
