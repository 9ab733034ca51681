//go:build unix

package editorfs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// instant is an editor that answers at once.
type instant struct{}

func (instant) ReadTextFile(_ context.Context, path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

func (instant) WriteTextFile(_ context.Context, path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644)
}

// BenchmarkCost compares what a read and an edit of droid cost with the disk way's. The pause
// between the two reads is not the agent's work, and is told by itself.
func BenchmarkCost(b *testing.B) {
	for _, size := range []int{2 << 10, 2 << 20} {
		text := strings.Repeat("a line of a file\n", size/17)
		path := filepath.Join(b.TempDir(), "a.txt")
		require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
		f, err := Open(Options{Journal: filepath.Join(b.TempDir(), "journal")})
		require.NoError(b, err)
		d, ctx := f.Overlay(async{instant{}}, OverlayOptions{}), context.Background()
		write := func(n int) {
			if err := os.WriteFile(path, []byte(fmt.Sprint(n, "\n", text)), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("%dKB/disk/read", size>>10), func(b *testing.B) {
			for b.Loop() {
				_, _ = os.ReadFile(path)
			}
		})
		b.Run(fmt.Sprintf("%dKB/editor/read", size>>10), func(b *testing.B) {
			for b.Loop() {
				_, _ = d.Read(ctx, "r", path)
				_, _ = os.ReadFile(path)
			}
		})
		n := 0
		b.Run(fmt.Sprintf("%dKB/disk/edit", size>>10), func(b *testing.B) {
			for b.Loop() {
				n++
				_, _ = os.ReadFile(path)
				write(n)
			}
		})
		b.Run(fmt.Sprintf("%dKB/editor/edit", size>>10), func(b *testing.B) {
			for b.Loop() {
				n++
				d.Before(ctx, "call", []string{path})
				_, _ = os.ReadFile(path)
				write(n)
				d.After(ctx, "call")
			}
			b.ReportMetric(float64(b.Elapsed()-time.Duration(b.N)*settle)/float64(b.N)/1e6, "ms/op-without-pause")
		})
		d.Close()
		f.Close()
	}
}
