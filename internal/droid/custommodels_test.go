package droid

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/subprocess"
)

var secretModels = []CustomModel{{ID: "custom:main:a", Model: "a", ExtraHeaders: map[string]string{"Authorization": secret}}}

// A process has its models from its start in a file, and not in its arguments or environment. Its sessions start with the first one.
func TestModelsAreInTheSettingsFileAlone(t *testing.T) {
	for _, cmd := range []Command{{}, {Runtime: true}, {Alone: true}} {
		cmd.CustomModels = secretModels
		c, p := subprocess.Command{Env: []string{envHome + "=" + t.TempDir()}}, &process{}
		require.NoError(t, p.addFiles(&c, cmd, zap.NewNop()))
		defer p.clean()
		require.NotNil(t, p.settings)
		require.NotContains(t, strings.Join(append(c.Args, c.Env...), "\n"), secret)
		content, err := cmd.settings(t.TempDir())
		require.NoError(t, err)
		var got struct {
			CustomModels           []CustomModel
			SessionDefaultSettings map[string]string
			Model                  string
		}
		require.NoError(t, json.Unmarshal(content, &got))
		require.Equal(t, secretModels, got.CustomModels)
		require.Equal(t, map[string]string{"model": "custom:main:a"}, got.SessionDefaultSettings)
	}
}

// A user's own settings file leaves no room for the models, so no process starts without them.
func TestNoProcessWithoutItsModels(t *testing.T) {
	env := []string{envHome + "=" + t.TempDir(), EnvSettings + "=/x.json"}
	c, p := subprocess.Command{Env: env}, &process{}
	require.ErrorAs(t, p.addFiles(&c, Command{CustomModels: secretModels}, zap.NewNop()), new(*ExcludeError))
	require.ErrorAs(t, ModelsTakeSettings(env), new(*ExcludeError))
	require.NoError(t, ModelsTakeSettings(env[:1]))
}

// The models are in the file while droid opens a session and until it asks the model, and at no other time.
func TestModelsLeaveTheFile(t *testing.T) {
	t.Setenv(envHome, t.TempDir())
	for version, late := range map[string]bool{"1.15.0": false, "1.206.0": true} {
		w := &watched{}
		c, p := newPeerOf(t, version, func(stdout io.Reader, stdin io.WriteCloser) *Client {
			c := NewClientWithSettings(stdout, stdin, w.write, nil)
			c.models = secretModels
			return c
		})
		p.notify(`{"type":"mcp_status_changed","servers":[]}`)
		<-c.Events()
		require.NoError(t, c.SetRuntime(Runtime{CWD: t.TempDir()}))
		require.False(t, w.has())
		require.Contains(t, w.get(), `"model":"custom:main:a"`, "what a session starts with stays")
		opens(t, p, w, methodInitialize, initialize(c))
		require.Equal(t, late, w.has())
		p.notify(`{"type":"droid_working_state_changed","newState":"` + string(stream.StateThinking) + `"}`)
		<-c.Events()
		require.False(t, w.has())
		opens(t, p, w, methodLoad, load(c))
	}
}

// A model that both the project and the user name does not switch a session to another provider.
func TestModelsOfAProviderAreTheDefault(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".factory"), 0o700))
	settings := filepath.Join(home, ".factory", "settings.json")
	for _, tc := range []struct {
		user    string
		project map[string]string
		want    map[string]string
	}{
		{`{}`, nil, map[string]string{"model": "custom:main:a"}},
		{`{"sessionDefaultSettings":{"model":"users"}}`, nil, map[string]string{"model": "custom:main:a"}},
		{`{"sessionDefaultSettings":{"model":"users"}}`, map[string]string{"model": "projects"}, map[string]string{"model": "custom:main:a"}},
		{`{"sessionDefaultSettings":{"model":"users"}}`, map[string]string{"specModeModel": "projects"}, map[string]string{"model": "custom:main:a", "specModeModel": "custom:main:a"}},
		{`{"sessionDefaultSettings":`, nil, map[string]string{"model": "custom:main:a", "specModeModel": "custom:main:a"}}, // which may name one
		{`{"sessionDefaultSettings":{"specModeModel":"users"}}`, nil, map[string]string{"model": "custom:main:a", "specModeModel": "custom:main:a"}},
	} {
		require.NoError(t, os.WriteFile(settings, []byte(tc.user), 0o600))
		content, err := Command{CustomModels: secretModels, Project: &projectconfig.Layer{Models: tc.project}}.settings(home)
		require.NoError(t, err)
		var got struct{ SessionDefaultSettings map[string]string }
		require.NoError(t, json.Unmarshal(content, &got))
		require.Equal(t, tc.want, got.SessionDefaultSettings, tc)
	}
}
