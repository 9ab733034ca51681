package keep

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
)

func TestTable(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	home := filepath.FromSlash("/home/me")
	status := serve.Status{Process: 7, Sessions: []serve.SessionInfo{
		{ID: "aaaaaaaa-1111-4111", Title: "Fix\x1b[2J\tthe\nbug", Directory: filepath.Join(home, "src"), State: serve.Running, Since: now.Add(-90 * time.Second), Clients: []string{"Zed (socket)", "x\u202ey"}},
		{ID: "aaaaaaaa-1222-4111", Title: strings.Repeat("ü", 100), Directory: home + "stead", State: serve.Asking, Question: "Run rm", Since: now.Add(-3 * time.Hour)},
		{ID: "b", Directory: home, State: serve.Idle, Since: now.Add(time.Second)},
		{ID: "cccccccc-1", Directory: "/", State: serve.Idle, Since: now.Add(-50 * time.Hour)},
	}}
	var w strings.Builder
	require.NoError(t, WriteTable(&w, status, home, now))
	sign := string(filepath.Separator)
	want := `SESSION      STATE             WHO IS THERE           DIRECTORY      TITLE
aaaaaaaa-11  running 1m        Zed (socket), x\u202ey  ~` + sign + `src          Fix\x1b[2J the ⏎ bug
aaaaaaaa-12  asks 3h: Run rm   nobody                 ` + home + `stead  ` + strings.Repeat("ü", 59) + `…
b            idle 0s           nobody                 ~
cccccccc     idle 2d           nobody                 /
`
	require.Equal(t, squeezed(want), squeezed(w.String()))
	w.Reset()
	require.NoError(t, WriteTable(&w, serve.Status{Process: 7}, "", now))
	require.Equal(t, "The server runs (process 7) and has no sessions.\n", w.String())
}

func squeezed(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

func TestFind(t *testing.T) {
	status := serve.Status{Sessions: []serve.SessionInfo{{ID: "aaaaaaaa-1111"}, {ID: "aaaaaaaa-1"}, {ID: "bbbbbbbb-1"}}}
	for id, want := range map[string]string{"b": "bbbbbbbb-1", "aaaaaaaa-1": "aaaaaaaa-1", "aaaaaaaa-11": "aaaaaaaa-1111"} {
		found, err := Find(status, id, typed)
		require.NoError(t, err)
		require.Equal(t, want, found.ID)
	}
	for id, want := range map[string]string{
		"aaaa": "the ids of 2 sessions begin with aaaa; give more of it",
		"c":    "no session c is open here; <ps> shows aaaaaaaa-11, aaaaaaaa-1, bbbbbbbb",
		"":     "no session  is open here; <ps> shows aaaaaaaa-11, aaaaaaaa-1, bbbbbbbb",
	} {
		_, err := Find(status, id, typed)
		require.EqualError(t, err, want)
	}
	_, err := Find(serve.Status{}, "c", typed)
	require.EqualError(t, err, "no session c is open here; the server has none (<ps>)")
}

func TestCheckAddress(t *testing.T) {
	for address, loopback := range map[string]bool{"127.0.0.1:0": true, "[::1]:7": true, "localhost:7": true, "0.0.0.0:7": false, ":7": false, "example.org:7": false, "192.168.0.1:7": false} {
		got, err := CheckAddress(address, true)
		require.NoError(t, err)
		require.Equal(t, loopback, got, address)
		_, err = CheckAddress(address, false)
		require.Equal(t, loopback, err == nil, address)
		if err != nil {
			require.ErrorContains(t, err, "so it needs TLS: give --tls-cert and --tls-key")
		}
	}
	_, err := CheckAddress("7777", true)
	require.ErrorContains(t, err, "write it as 127.0.0.1:7777")
}

func TestNewest(t *testing.T) {
	_, err := Newest(serve.Status{}, typed)
	require.EqualError(t, err, "no session is open; <attach --new .> begins one")
	now := time.Now()
	newest, err := Newest(serve.Status{Sessions: []serve.SessionInfo{{ID: "b", Since: now}, {ID: "a", Since: now.Add(-time.Hour)}}}, typed)
	require.NoError(t, err)
	require.Equal(t, "b", newest.ID)
}
