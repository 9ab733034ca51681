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

// checkLinks returns what is wrong with the links of all documents, and the links that
// lead out of the repository. Nothing is fetched.
func checkLinks(root string, all map[string]*document) (wrong, outside []string) {
	for _, d := range all {
		complain := func(p place, format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s: ", d.path, p.line, p.text)+fmt.Sprintf(format, args...))
		}
		for _, p := range d.loose {
			complain(p, "this looks like a link that is not closed")
		}
		for _, p := range d.links {
			u, err := url.Parse(p.text)
			switch {
			case err != nil:
				complain(p, "%v", err)
			case u.Scheme != "" || u.Host != "":
				outside = append(outside, p.text)
				if u.Scheme != "https" || !strings.Contains(u.Host, ".") {
					complain(p, "only https and a public host")
				}
			case strings.HasPrefix(p.text, "/"):
				complain(p, "a path of one machine")
			default:
				checkRelative(root, all, d, u, func(format string, args ...any) { complain(p, format, args...) })
			}
		}
	}
	slices.Sort(wrong)
	slices.Sort(outside)
	return wrong, slices.Compact(outside)
}

// checkRelative checks a link into the repository.
func checkRelative(root string, all map[string]*document, from *document, u *url.URL, complain func(string, ...any)) {
	target := from.path
	if u.Path != "" {
		target = path.Join(path.Dir(from.path), u.Path)
	}
	if strings.HasPrefix(target, "..") {
		complain("it leaves the repository")
		return
	}
	if to := all[target]; to != nil {
		if u.Fragment != "" && !to.anchors[u.Fragment] {
			complain("%s has no such heading", target)
		}
		return
	}
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		complain("there is no file %s", target)
	} else if u.Fragment != "" {
		complain("only documents have headings")
	}
}

// unreachable are the documents below docs to which no way of links leads from README.
func unreachable(all map[string]*document) (lost []string) {
	reached := map[string]bool{}
	var visit func(path string)
	visit = func(at string) {
		if reached[at] || all[at] == nil {
			return
		}
		reached[at] = true
		for _, p := range all[at].links {
			if u, err := url.Parse(p.text); err == nil && u.Scheme == "" {
				visit(path.Join(path.Dir(at), u.Path))
			}
		}
	}
	visit("README.md")
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !reached[name] {
			lost = append(lost, name)
		}
	}
	slices.Sort(lost)
	return lost
}

func TestUnreachable(t *testing.T) {
	all := map[string]*document{}
	for name, links := range map[string]string{"README.md": "[a](docs/a.md#x)", "docs/a.md": "[b](b.md), [r](../README.md)", "docs/b.md": "", "docs/c.md": "[a](a.md)", "other.md": ""} {
		all[name] = parseDocument(name, links)
	}
	require.Equal(t, []string{"docs/c.md"}, unreachable(all))
}

func TestLinks(t *testing.T) {
	all := readDocuments(t, root)
	wrong, outside := checkLinks(root, all)
	require.Empty(t, wrong)
	require.Empty(t, unreachable(all), "README leads nobody there")
	require.NotEmpty(t, outside)
	t.Log("links that lead out of the repository, not fetched:\n" + strings.Join(outside, "\n"))
}

// TestWrongLinksAreFound: each of these is one complaint, or none.
func TestWrongLinksAreFound(t *testing.T) {
	other := parseDocument("docs/other.md", "# Here it is\n")
	for link, ok := range map[string]bool{
		"[a](other.md)":                       true,
		"[a](other.md#here-it-is)":            true,
		"[a](#self)":                          true,
		"[a](../go.mod)":                      true,
		"[a](.)":                              true,
		"![a](../LICENSE)":                    true,
		"<https://agentclientprotocol.com>":   true,
		"[a][b]\n\n[b]: other.md":             true,
		"[a](others.md)":                      false,
		"[a](other.md#here)":                  false,
		"[a](#there)":                         false,
		"[a](../go.mod#top)":                  false,
		"[a](../../else/README.md)":           false,
		"[a](/etc/passwd)":                    false,
		"[a](file:///etc/passwd)":             false,
		"[a](http://agentclientprotocol.com)": false,
		"[a](https://localhost/x)":            false,
		"[a](mailto:someone)":                 false,
		"[a](//agentclientprotocol.com)":      false,
		"![a](gone.svg)":                      false,
		"<img src=\"gone.svg\">":              false,
		"[a](other .md)":                      false,
		"[a][nowhere]":                        false,
		"[a](%zz)":                            false,
	} {
		self := parseDocument("docs/self.md", "# Self\n\n"+link+"\n")
		wrong, _ := checkLinks(root, map[string]*document{"docs/self.md": self, "docs/other.md": other})
		want := 1
		if ok {
			want = 0
		}
		require.Len(t, wrong, want, link)
	}
}
