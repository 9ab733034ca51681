package docs

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// checkLinks returns what is wrong with the links of all documents. Those that lead out of the
// repository are not fetched.
func checkLinks(root string, all map[string]*document) (wrong []string) {
	for _, d := range all {
		for _, p := range d.loose {
			wrong = append(wrong, fmt.Sprintf("%s:%d: this looks like a link that is not closed: %s", d.path, p.line, p.text))
		}
		for _, p := range d.links {
			if what := checkLink(root, all, d, p.text); what != "" {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s: %s", d.path, p.line, p.text, what))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// checkLink returns what is wrong with a link, or "".
func checkLink(root string, all map[string]*document, from *document, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" || u.Host != "" {
		if u.Scheme != "https" || !strings.Contains(u.Host, ".") {
			return "only https and a public host"
		}
		return ""
	}
	target := from.path
	if u.Path != "" {
		target = path.Join(path.Dir(from.path), u.Path)
	}
	to := all[target]
	_, err = os.Stat(filepath.Join(root, target))
	switch {
	case strings.HasPrefix(link, "/") || strings.HasPrefix(target, ".."):
		return "it leaves the repository"
	case to == nil && err != nil:
		return "there is no file " + target
	case u.Fragment != "" && (to == nil || !to.anchors[u.Fragment]):
		return target + " has no such heading"
	}
	return ""
}

func TestLinks(t *testing.T) {
	require.Empty(t, checkLinks(root, readDocuments(t)))
}

// TestWrongLinksAreFound: each of these is one complaint, or none.
func TestWrongLinksAreFound(t *testing.T) {
	other := parseDocument("docs/other.md", "# Here it is\n")
	for link, wants := range map[string]int{
		"[a](other.md)": 0, "[a](other.md#here-it-is)": 0, "[a](#self)": 0, "[a](../go.mod)": 0, "[a](.)": 0, "![a](../LICENSE)": 0,
		"<https://agentclientprotocol.com>": 0, "[a][b]\n\n[b]: other.md": 0,
		"[a](others.md)": 1, "[a](other.md#here)": 1, "[a](#there)": 1, "[a](../go.mod#top)": 1, "[a](../../else/README.md)": 1,
		"[a](/etc/passwd)": 1, "[a](file:///etc/passwd)": 1, "[a](http://agentclientprotocol.com)": 1, "[a](https://localhost/x)": 1,
		"[a](mailto:someone)": 1, "[a](//agentclientprotocol.com)": 1, "![a](gone.svg)": 1,
		"[a](other .md)": 1, "[a][nowhere]": 1, "[a](%zz)": 1,
	} {
		self := parseDocument("docs/self.md", "# Self\n\n"+link+"\n")
		require.Len(t, checkLinks(root, map[string]*document{"docs/self.md": self, "docs/other.md": other}), wants, link)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
