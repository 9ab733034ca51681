package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSystemPrompt(t *testing.T) {
	const stored = `{"model":"m","systemPrompt":{"type":"preset","preset":"droid","append":"Be\nbrief."}}` // as 0.225.2 writes it
	for name, c := range map[string]struct {
		settings, want string
		fails          bool
	}{
		"stored":       {settings: stored, want: "Be\nbrief."},
		"none":         {settings: `{"model":"m"}`},
		"null":         {settings: `{"systemPrompt":null}`},
		"another kind": {settings: `{"systemPrompt":"All of it."}`},
		"damaged":      {settings: `{"systemPrompt":{"append":"Be`, fails: true},
		"empty":        {settings: "", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.write("-w", "one.jsonl", start225("one", "/w", "t", nil), sometime)
			s.write("-w", "one.settings.json", c.settings, sometime)
			got, err := s.SystemPrompt("one")
			require.Equal(t, c.want, got)
			require.Equal(t, c.fails, err != nil, err)
		})
	}
}

// A missing session, or an invalid ID, has nothing stored.
func TestSystemPromptOfNoSession(t *testing.T) {
	s := newStore(t)
	s.write("-w", "bare.jsonl", start225("bare", "/w", "t", nil), sometime)
	s.write("-w", "alone.settings.json", `{"systemPrompt":{"append":"x"}}`, sometime)
	for _, id := range []string{"bare", "alone", "none", "../alone", ""} {
		got, err := s.SystemPrompt(id)
		require.NoError(t, err, id)
		require.Empty(t, got, id)
	}
	s.write("-w", "odd.jsonl", start225("odd", "/w", "t", nil), sometime)
	require.NoError(t, os.Mkdir(filepath.Join(s.root, "-w", "odd.settings.json"), 0o700))
	_, err := s.SystemPrompt("odd")
	require.Error(t, err)
}

// Of two copies the newer one counts, since droid loads that.
func TestSystemPromptOfTwoCopies(t *testing.T) {
	s := newStore(t)
	for dir, at := range map[string]time.Time{"-a": sometime, "-b": sometime.Add(time.Hour), "-c": sometime.Add(-time.Hour)} {
		s.write(dir, "one.jsonl", start225("one", "/w", "t", nil), at)
		s.write(dir, "one.settings.json", `{"systemPrompt":{"append":"of `+dir+`"}}`, sometime)
	}
	got, err := s.SystemPrompt("one")
	require.NoError(t, err)
	require.Equal(t, "of -b", got)
}
