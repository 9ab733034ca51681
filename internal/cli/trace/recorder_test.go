package trace

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/redact"
)

// sink is a file whose writes wait while it is held, or fail while it is full.
type sink struct {
	mu   sync.Mutex
	text strings.Builder
	full bool
	held chan struct{} // nil or closed: writes pass
}

func (s *sink) Write(p []byte) (int, error) {
	if s.held != nil {
		<-s.held
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return 0, errors.New("no space left")
	}
	return s.text.Write(p)
}

func (s *sink) records(t *testing.T) (all []Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.text.String()) {
		var r Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		all = append(all, r)
	}
	return all
}

// The eight secrets that are planted below, each where one may be.
func TestSecretsAreNotRecorded(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".factory"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", "settings.json"), []byte(`{
		// a comment
		"customModels": [{"model": "m", "apiKey": "planted-settings-1"}, {"model": "n", "apiKey": "${OF_MODEL}"}]}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", "mcp.json"), []byte(`{"mcpServers": {"x": {"env": {"PATH": "/usr/bin", "X": "planted-mcpfile-9"}}}}`), 0o600))
	secrets := redact.New([]string{"MY_SERVICE_KEY=planted-env-0", "FACTORY_API_KEY=fk-planted-factory", "OF_MODEL=planted-reference", "LANG=C.UTF-8", "GIT_AUTHOR_NAME=Somebody Else", "AUTH=1"}, home)
	s := &sink{}
	r := NewRecorder(s, secrets, func(error) {})
	in := r.Reader(strings.NewReader(strings.Join([]string{
		`{"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"db","env":[{"name":"DB_NAME_OF","value":"planted-\"mcp\"-env-2"},{"name":"PATH","value":"/usr/bin"}]},` +
			`{"name":"web","url":"https://planted-userinfo-4@example.org/mcp?access_token=planted-parameter","headers":[{"name":"X-Any","value":"planted-header-3"}]},{"name":"a","headers":{"Authorization":"Bearer planted-authorization-5"}}]}}`,
		`{"method":"x","params":{"password":"planted-password-6","inputTokens":12345678901234567890,"z":1,"a":[true,null,1.50]}}`,
		`{"text":"I saw planted-env-0 and planted-settings-1, fk-planted-factory planted-reference planted-mcpfile-9 planted-\"mcp\"-env-2 planted-header-3 planted-authorization-5 planted-password-6"}`,
		`{"text":"curl -H 'Authorization: Bearer planted-inline-7' https://me:planted-inline-8@host/x; export API_TOKEN=planted-inline-9"}`,
		`{"text":"{\"value\": \"planted-\\\"mcp\\\"-env-2\"} ?x=planted-%22mcp%22-env-2"}`,
		`no JSON, planted-env-0, https://planted-noise:p@host`,
		`{"text":"/usr/bin and C.UTF-8 and Somebody Else stay"}`,
		`{"half":"planted-env-0`,
	}, "\n")), Editor, 0)
	_, err := io.ReadAll(in)
	require.NoError(t, err)
	require.True(t, r.Close())
	text := s.text.String()
	require.NotContains(t, text, "planted")
	for _, want := range []string{
		`"inputTokens":12345678901234567890,"z":1,"a":[true,null,1.50]`, `{"name":"DB_NAME_OF","value":"[redacted]"}`, `/usr/bin and C.UTF-8 and Somebody Else stay`,
		`https://[redacted]@example.org/mcp?access_token=[redacted]`, `"text":"no JSON, [redacted], https://[redacted]@host"`,
	} {
		require.Contains(t, text, want)
	}
	records := s.records(t)
	require.Len(t, records, 9)
	require.Equal(t, noteEnded, records[8].Note)
}

// A disk that does not answer, and one that is full, hold up nobody; what is missing is counted.
func TestSlowDiskHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{held: make(chan struct{})}
		r := NewRecorder(s, redact.New(nil, ""), func(error) {})
		w := r.Writer(io.Discard, Droid, 7)
		line := []byte(`"` + strings.Repeat("x", 1<<20) + "\"\n")
		for range 70 {
			_, err := w.Write(line)
			require.NoError(t, err)
			synctest.Wait() // the first one is at the disk, and no other
		}
		require.False(t, r.Close())
		close(s.held)
		synctest.Wait()
		records := s.records(t)
		lost := records[len(records)-1].Lost
		require.Positive(t, lost)
		require.Equal(t, 70, len(records)-1+lost)
	})
}

func TestFullDiskHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failures := &sink{full: true}, 0
		r := NewRecorder(s, redact.New(nil, ""), func(error) { failures++ })
		w := r.Writer(io.Discard, Droid, 7)
		for range 3 {
			_, err := w.Write([]byte("{}\n"))
			require.NoError(t, err)
		}
		synctest.Wait()
		s.mu.Lock()
		s.full = false
		s.mu.Unlock()
		_, err := w.Write([]byte("{\"a\":1}\n"))
		require.NoError(t, err)
		require.True(t, r.Close())
		records := s.records(t)
		require.Len(t, records, 2)
		require.Equal(t, 3, records[0].Lost)
		require.Equal(t, 1, failures)
	})
}

func TestLinesAreRecordedWhole(t *testing.T) {
	s := &sink{}
	r := NewRecorder(s, redact.New(nil, ""), func(error) {})
	in, out := r.Reader(strings.NewReader("{\"b\":\r\n\n{\"é<\":\"\\u00e9\\n\"}\n"+strings.Repeat("y", maxLine+1)+"\nend"), Droid, 3), &strings.Builder{}
	_, err := io.ReadAll(in)
	require.NoError(t, err)
	w := r.Writer(out, Editor, 0)
	for _, piece := range []string{"{\"a\"", ":1}\n{", "}\n"} {
		_, err := w.Write([]byte(piece))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.True(t, r.Close())
	require.Equal(t, "{\"a\":1}\n{}\n", out.String())
	var got []string
	for _, r := range s.records(t) {
		require.Equal(t, os.Getpid(), r.Agent)
		require.False(t, r.Time.IsZero())
		got = append(got, strings.TrimSpace(string(r.Peer)+" "+string(r.Dir)+" "+string(r.Line)+r.Text+r.Note))
		if r.Size > 0 {
			require.Equal(t, maxLine+1, r.Size)
		}
	}
	require.Equal(t, []string{
		`droid received {"b":`, `droid received {"é<":"é\n"}`, `droid received`, `droid received end`, `droid received ended`,
		`editor sent {"a":1}`, `editor sent {}`, `editor sent closed its input`,
	}, got)
}
