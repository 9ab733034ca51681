package adapter

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A directory whose file system does not answer holds up nobody else: not while a session is
// opened there, and not at the end.
func TestDirectoryThatHangs(t *testing.T) {
	for method, params := range map[string]string{
		"session/new":    `{"cwd":"/dead","mcpServers":[]}`,
		"another root":   `{"cwd":"/workspace","mcpServers":[],"additionalDirectories":["/dead"]}`,
		"session/load":   `{"sessionId":"a","cwd":"/dead","mcpServers":[]}`,
		"session/resume": `{"sessionId":"a","cwd":"/dead","mcpServers":[]}`,
		"session/fork":   `{"sessionId":"a","cwd":"/dead","mcpServers":[]}`,
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := begin(t, playing(says("hi")))
				revived, stat := make(chan struct{}), e.agent.stat
				defer close(revived)
				e.agent.stat = func(path string) (os.FileInfo, error) {
					if path == "/dead" {
						<-revived
					}
					return stat(path)
				}
				if method == "another root" {
					method = "session/new"
				}
				id, began := e.request(method, params), time.Now()
				require.Equal(t, "end_turn", e.run("hello"))
				require.Less(t, time.Since(began), time.Second)
				require.Contains(t, e.await(id).Error.Message, "/dead")
				e.close()
			})
		})
	}
}
