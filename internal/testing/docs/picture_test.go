package docs

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// picture is an SVG that scripts/picture has drawn.
type picture struct {
	Command string `xml:"desc"`
	Lines   []struct {
		Inner string `xml:",innerxml"`
	} `xml:"text"`
}

// maxPicture is how large a picture may be, in bytes.
const maxPicture = 60_000

func readPicture(data []byte) (p picture, err error) {
	return p, xml.Unmarshal(data, &p)
}

var (
	tagPattern  = regexp.MustCompile(`<[^>]*>`)
	timePattern = regexp.MustCompile(`\b[0-9.]+(?:ms|s)\b`)
)

// said is a text without what differs between runs (times) or with the width of the
// terminal (white space).
func said(text string) string {
	return strings.Join(strings.Fields(timePattern.ReplaceAllString(text, "T")), "")
}

// text is what a picture shows below its command.
func (p picture) text() string {
	var b strings.Builder
	for _, line := range p.Lines[1:] {
		b.WriteString(tagPattern.ReplaceAllString(line.Inner, "") + "\n")
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(b.String())
}

// checkPictures runs the commands of the pictures and compares.
func checkPictures(t *testing.T, reader *newcomer) (wrong []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs/*.svg"))
	require.NoError(t, err)
	drawn := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Less(t, len(data), maxPicture, file)
		p, err := readPicture(data)
		require.NoError(t, err, file)
		if !strings.HasPrefix(p.Command, "droid-acp ") {
			continue
		}
		drawn++
		project := t.TempDir()
		out, code := reader.run(t, "cd "+project+" && "+reader.dir+"/bin/"+p.Command)
		require.Zero(t, code, out)
		if said(strings.ReplaceAll(out, project, "~/project")) != said(p.text()) {
			wrong = append(wrong, file+" is out of date: make picture")
		}
	}
	require.GreaterOrEqual(t, drawn, 2)
	return wrong
}

func TestPictureIsCompared(t *testing.T) {
	const drawn = `<svg xmlns="http://www.w3.org/2000/svg"><desc>droid-acp x</desc><text>$ droid-acp x</text><text><tspan class="a">you </tspan>&lt;a&gt; it&#39;s &amp;</text><text>done in 1.1s, 600ms</text></svg>`
	p, err := readPicture([]byte(drawn))
	require.NoError(t, err)
	require.Equal(t, "droid-acp x", p.Command)
	require.Equal(t, said("you <a>\nit's & done in 2s, 0.1s"), said(p.text()))
	require.NotEqual(t, said("you <a>\nit's & done, 0.1s"), said(p.text()))
}
