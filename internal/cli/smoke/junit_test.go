package smoke

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// node is an element of a JUnit file.
type node struct {
	name     string
	attrs    map[string]string
	children []*node
	text     string
}

func (n *node) attributes(names ...string) (values []string) {
	for _, name := range names {
		values = append(values, n.attrs[name])
	}
	return values
}

// rule says what an element may have. Its children stand in the order of their names here, those
// of ends as one.
type rule struct {
	needs, may, children []string
	text                 bool
}

// ends are the elements that say how a test case ended. It has one or none.
var ends = []string{"failure", "error", "skipped"}

// junitRules are the rules of Jenkins' schema (junit-10.xsd of its xUnit plugin) for the elements written here. That schema allows children
// in any order; these have the order of Ant's.
var junitRules = map[string]rule{
	"testsuites": {may: []string{"name", "time", "tests", "failures", "errors"}, children: []string{"testsuite"}},
	"testsuite": {needs: []string{"name", "tests", "failures", "errors"}, children: []string{"properties", "testcase", "system-out", "system-err"},
		may: []string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"}},
	"properties": {children: []string{"property"}},
	"property":   {needs: []string{"name", "value"}},
	"testcase":   {needs: []string{"name"}, may: []string{"time", "classname", "group"}, children: slices.Concat(ends, []string{"system-out", "system-err"})},
	"failure":    {may: []string{"type", "message"}, text: true},
	"error":      {may: []string{"type", "message"}, text: true},
	"skipped":    {may: []string{"type", "message"}, text: true},
	"system-out": {text: true},
}

// seconds as that schema writes them.
var junitTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// readJUnit reads a file as Jenkins and GitLab do, and fails where they would not show all of it.
func readJUnit(t *testing.T, file []byte) *node {
	t.Helper()
	require.True(t, utf8.Valid(file))
	decoder, at := xml.NewDecoder(bytes.NewReader(file)), &node{}
	path := []*node{at}
	for {
		token, err := decoder.Token() // it refuses signs that are none of XML 1.0
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			at.children, path, at = append(at.children, n), append(path, n), n
		case xml.EndElement:
			path = path[:len(path)-1]
			at = path[len(path)-1]
		case xml.CharData:
			at.text += string(token)
		}
	}
	require.Len(t, at.children, 1)
	root := at.children[0]
	require.Equal(t, "testsuites", root.name)
	root.check(t)
	// GitLab leaves out all but the first of those that have the same names.
	seen := map[string]bool{}
	for _, suite := range root.children {
		counted := map[string]int{}
		for _, c := range suite.children {
			if c.name != "testcase" {
				continue
			}
			names := c.attrs["classname"] + "\n" + c.attrs["name"]
			require.False(t, seen[names], names)
			seen[names] = true
			counted["testcase"]++
			for _, end := range c.children {
				counted[end.name]++
			}
		}
		for attribute, name := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"} {
			require.Equal(t, strconv.Itoa(counted[name]), suite.attrs[attribute], attribute)
		}
	}
	return root
}

func (n *node) check(t *testing.T) {
	r, known := junitRules[n.name]
	require.True(t, known, "an element %s", n.name)
	for name := range n.attrs {
		require.Contains(t, slices.Concat(r.needs, r.may), name, "an attribute of %s", n.name)
	}
	for _, name := range r.needs {
		require.Contains(t, n.attrs, name, "%s needs it", n.name)
	}
	require.Regexp(t, junitTime, n.attrs["time"])
	if !r.text {
		require.Empty(t, strings.TrimSpace(n.text), "text in %s", n.name)
	}
	if slices.Contains(ends, n.name) {
		require.NotEmpty(t, strings.TrimSpace(n.text), "GitLab shows nothing else of %s", n.name)
	}
	place, ended := 0, 0
	for _, child := range n.children {
		i := slices.Index(r.children, child.name)
		require.GreaterOrEqual(t, i, place, "%s in %s, or its place there", child.name, n.name)
		if place = i; slices.Contains(ends, child.name) {
			ended++
		}
		child.check(t)
	}
	require.LessOrEqual(t, ended, 1, "a case ends once")
}
