//go:build unix

package install

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"droid-acp/internal/droid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a machine with a npm that a script plays, "" for none.
type place struct {
	home, bin, prefix string
	asked             []string
	out               bytes.Buffer
	answer            bool
	named             string
}

func newPlace(t *testing.T, npm string) *place {
	t.Helper()
	home := t.TempDir()
	p := &place{home: home, bin: filepath.Join(home, "path"), prefix: filepath.Join(home, "prefix"), answer: true}
	require.NoError(t, os.MkdirAll(p.bin, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(p.prefix, "bin"), 0o700))
	for _, name := range []string{"sh", "cat", "chmod"} {
		require.NoError(t, os.Symlink(filepath.Join("/bin", name), filepath.Join(p.bin, name)))
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", p.bin)
	t.Setenv("PREFIX", p.prefix)
	t.Setenv("BIN", p.bin)
	t.Setenv(droid.EnvDroid, "")
	if npm != "" {
		p.program(t, "npm", `[ "$1" = prefix ] && { echo "$PREFIX"; exit; }
echo "$@" > "$HOME/npm-was-run"
put() { printf '#!/bin/sh\necho 9.8.7\n' > "$1"; chmod +x "$1"; }
`+npm)
	}
	return p
}

func (p *place) program(t *testing.T, name, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(p.bin, name), []byte("#!/bin/sh\n"+script), 0o700))
}

func (p *place) run(ctx context.Context) error {
	return Installer{
		Find:   func() (string, error) { return droid.Find(p.named) },
		Named:  p.named,
		Agrees: func(question string) (bool, error) { p.asked = append(p.asked, question); return p.answer, nil },
		Out:    &p.out, GOOS: "linux",
	}.Run(ctx)
}

func (p *place) ran() string {
	data, _ := os.ReadFile(filepath.Join(p.home, "npm-was-run"))
	return string(data)
}

func TestInstalls(t *testing.T) {
	p := newPlace(t, `echo "added 2 packages"; put "$BIN/droid"`)
	require.NoError(t, p.run(t.Context()))
	require.Equal(t, "install -g droid\n", p.ran())
	require.Len(t, p.asked, 1)
	require.Contains(t, p.asked[0], "`npm install -g droid`")
	require.Contains(t, p.asked[0], p.prefix)
	require.Contains(t, p.out.String(), "added 2 packages\ndroid is installed: "+filepath.Join(p.bin, "droid")+", version 9.8.7.\n")

	require.NoError(t, p.run(t.Context()), "again")
	require.Len(t, p.asked, 1, "what is there is not installed")
	require.Contains(t, p.out.String(), "There is nothing to do.")
}

// npm puts droid where it wants, so a droid that the user's settings name is not made by it.
func TestNamedDroidIsNotInstalled(t *testing.T) {
	p := newPlace(t, `put "$BIN/droid"`)
	p.named = filepath.Join(p.home, "nope")
	require.ErrorContains(t, p.run(t.Context()), p.named+" is no droid that works here")
	require.Empty(t, p.asked)
	require.Empty(t, p.ran())
}

func TestNothingIsDownloadedUnasked(t *testing.T) {
	p := newPlace(t, `put "$BIN/droid"`)
	p.answer = false
	require.ErrorIs(t, p.run(t.Context()), ErrDeclined)
	require.Empty(t, p.ran())
}

func TestFailures(t *testing.T) {
	for script, want := range map[string]string{
		`echo "npm error code EACCES" >&2; exit 243`:  "`npm install -g --prefix ~/.local droid`",
		`echo "npm error code ENOTFOUND" >&2; exit 1`: "could not reach its registry",
		`echo "npm error code ENOSPC" >&2; exit 1`:    "Make room",
		`echo "npm error odd" >&2; exit 7`:            "exit status 7",
		`put "$PREFIX/bin/droid"`:                     "Put that directory into your PATH, or set " + droid.EnvDroid + " to ",
		`echo done`:                                   "droid not found",
	} {
		t.Run(want, func(t *testing.T) {
			p := newPlace(t, script)
			require.ErrorContains(t, p.run(t.Context()), want)
		})
	}
}

func TestNoNPM(t *testing.T) {
	p := newPlace(t, "")
	err := p.run(t.Context())
	require.ErrorContains(t, err, "https://nodejs.org")
	require.ErrorContains(t, err, "https://app.factory.ai/cli")
	require.Empty(t, p.asked)
}

func TestEnded(t *testing.T) {
	p := newPlace(t, `while :; do cat /dev/zero; done | cat > /dev/null`)
	ctx, end := context.WithCancel(t.Context())
	err := Installer{
		Find:   func() (string, error) { return droid.Find(p.named) },
		Named:  p.named,
		Agrees: func(string) (bool, error) { end(); return true, nil },
		Out:    &p.out,
	}.Run(ctx)
	require.ErrorContains(t, err, "npm was ended")
}

func TestLinuxNode(t *testing.T) {
	for text, want := range map[string]string{
		"ID=ubuntu\nID_LIKE=debian\n":                   "sudo apt install npm",
		"NAME=x\nID=\"rocky\"\nID_LIKE=\"rhel fedora\"": "sudo dnf install npm",
		"ID=opensuse-leap\nID_LIKE=\"suse opensuse\"":   "sudo zypper install npm",
		"ID=nixos": "",
	} {
		file := filepath.Join(t.TempDir(), "os-release")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Equal(t, want, linuxNode(file))
	}
	require.Empty(t, linuxNode(filepath.Join(t.TempDir(), "none")))
}
