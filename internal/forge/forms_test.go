package forge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// form is a form for issues, by GitHub's "Syntax for issue forms" and "Syntax for
// GitHub's form schema". Fields that these do not have are refused when it is read.
type form struct {
	Name        string
	Description string
	Title       string
	Labels      []string
	Assignees   []string
	Projects    []string
	Type        string
	Body        []element
}

type element struct {
	Type       string
	ID         string
	Attributes struct {
		Value       string
		Label       string
		Description string
		Placeholder string
		Render      string
		Options     []any
		Multiple    bool
		Default     int
	}
	Validations struct{ Required bool }
}

func TestForms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github", "ISSUE_TEMPLATE", "*.yml"))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, file := range files {
		if filepath.Base(file) == "config.yml" {
			continue
		}
		var f form
		read(t, ".github/ISSUE_TEMPLATE/"+filepath.Base(file), &f, true)
		require.NotEmpty(t, f.Description, file)
		require.False(t, names[f.Name] || f.Name == "", "%s needs a name of its own", file)
		names[f.Name] = true
		checkBody(t, file, f.Body)
		asked := map[string]bool{}
		for _, e := range f.Body {
			asked[e.Attributes.Label] = true
		}
		require.True(t, asked["/status"] && asked["droid-acp doctor"], "%s asks for /status and doctor", file)
	}
	require.Len(t, names, 2)
}

// checkBody holds the elements against what GitHub wants of them.
func checkBody(t *testing.T, file string, body []element) {
	t.Helper()
	ids, fields := map[string]bool{}, 0
	for _, e := range body {
		a := e.Attributes
		switch e.Type {
		case "markdown":
			require.NotEmpty(t, a.Value, file)
			continue
		case "dropdown":
			require.NotEmpty(t, a.Options, file)
			for _, option := range a.Options {
				require.IsType(t, "", option, "%s: an option that is no text, such as yes or 1", file)
			}
		case "checkboxes":
			for _, option := range a.Options {
				require.NotEmpty(t, option.(map[string]any)["label"], file)
			}
		case "input", "textarea":
			require.Empty(t, a.Options, file)
		default:
			t.Fatalf("%s: unknown type %q", file, e.Type)
		}
		fields++
		require.NotEmpty(t, a.Label, file)
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, e.ID, file)
		require.False(t, ids[e.ID], "%s: the id %s twice", file, e.ID)
		ids[e.ID] = true
		require.True(t, a.Render == "" || e.Type == "textarea", file)
	}
	require.NotZero(t, fields, file)
}

func TestFormsConfig(t *testing.T) {
	var config struct {
		BlankIssuesEnabled *bool                               `yaml:"blank_issues_enabled"`
		ContactLinks       []struct{ Name, URL, About string } `yaml:"contact_links"`
	}
	read(t, ".github/ISSUE_TEMPLATE/config.yml", &config, true)
	require.NotNil(t, config.BlankIssuesEnabled)
}

// TestSecurityPolicy: it is where forges look for it, and names no address that does
// not exist.
func TestSecurityPolicy(t *testing.T) {
	policy := text(t, "SECURITY.md")
	require.Contains(t, policy, "private report")
	require.False(t, strings.Contains(policy, "http") || strings.Contains(policy, "@"), "nothing is published yet")
	_, err := os.Stat(filepath.Join(root, ".editorconfig"))
	require.NoError(t, err)
}
