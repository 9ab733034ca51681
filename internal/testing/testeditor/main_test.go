package testeditor

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is an editor with a project.
type harness struct {
	*Editor
	t    *testing.T
	root string
}

// inBubble runs a test with an editor on the bubble's clock.
func inBubble(t *testing.T, o Options, test func(t *testing.T, d *harness)) {
	t.Helper()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o.Root = root
		d := &harness{New(o), t, root}
		defer d.Close()
		test(t, d)
	})
}

func constant(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func (d *harness) path(name string) string { return filepath.Join(d.root, name) }

// write writes a file on the disk, not through the editor.
func (d *harness) write(name, content string) string {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(d.path(name), []byte(content), 0o644))
	return d.path(name)
}

func (d *harness) requireDisk(name, content string) {
	d.t.Helper()
	got, err := os.ReadFile(d.path(name))
	require.NoError(d.t, err)
	require.Equal(d.t, content, string(got))
}

func (d *harness) requireBuffer(name, text string) {
	d.t.Helper()
	got, open := d.Buffer(d.path(name))
	require.True(d.t, open)
	require.Equal(d.t, text, got)
}

func (d *harness) requireReview(name, base, now string) {
	d.t.Helper()
	gotBase, gotNow, listed := d.Review(d.path(name))
	require.True(d.t, listed)
	require.Equal(d.t, []string{base, now}, []string{gotBase, gotNow})
}

func (d *harness) requireNotListed(name string) {
	d.t.Helper()
	_, _, listed := d.Review(d.path(name))
	require.False(d.t, listed)
	require.NotContains(d.t, d.Listed(), d.path(name))
}

func (d *harness) read(name string) string {
	d.t.Helper()
	text, err := d.ReadTextFile(d.t.Context(), d.path(name))
	require.NoError(d.t, err)
	return text
}

func (d *harness) edit(name, text string) {
	d.t.Helper()
	require.NoError(d.t, d.WriteTextFile(d.t.Context(), d.path(name), text))
}

func (d *harness) requireNothingLeft() {
	d.t.Helper()
	require.NoError(d.t, filepath.WalkDir(d.root, func(path string, _ fs.DirEntry, err error) error {
		require.NotContains(d.t, filepath.Base(path), ".testeditor-")
		return err
	}))
}
