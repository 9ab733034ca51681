package export

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed" // the style of the page
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"
)

//go:embed page.css
var pageCSS string

// policy returns the page's Content-Security-Policy. Since the page is self-contained, browsers must refuse all requests that a
// conversation might smuggle in, and all styles but the page's own.
func policy() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// pageView is the data of the page.
type pageView struct {
	*textRenderer
	Title, Policy string
	Facts         []property
	Prompts       []promptLink
	Blocks        []turnBlock
}

// promptLink is a link to a prompt.
type promptLink struct {
	ID   string
	Text string
}

// turnBlock is a sequence of parts by one side.
type turnBlock struct {
	ID     string // of a prompt
	User   bool
	At     time.Time
	Model  string
	Parts  []part
	Tokens string
}

// maxLinkText bounds the text of a link to a prompt, in characters.
const maxLinkText = 100

// render writes the conversation as one HTML page.
func (c *Conversation) render(w io.Writer) error {
	v := pageView{textRenderer: newPainter(time.Now()), Title: c.title, Policy: policy()}
	for _, f := range c.properties {
		if f.Value != "" {
			v.Facts = append(v.Facts, f)
		}
	}
	v.Blocks = blocksOf(c.parts)
	for i := range v.Blocks {
		if b := &v.Blocks[i]; b.User {
			b.ID = fmt.Sprintf("prompt-%d", len(v.Prompts)+1)
			v.Prompts = append(v.Prompts, promptLink{b.ID, promptText(b.Parts)})
		}
	}
	switch {
	case v.Title != "":
	case len(v.Prompts) > 0:
		v.Title = v.Prompts[0].Text
	default:
		v.Title = "droid session"
	}
	out := bufio.NewWriter(w)
	if err := v.html().Render(out); err != nil {
		return err
	}
	return out.Flush()
}

// blocksOf groups the parts of one side. A new model starts a new block.
func blocksOf(parts []part) (blocks []turnBlock) {
	for _, p := range parts {
		user := p.Kind == kindUser || p.Kind == kindImage
		last := len(blocks) - 1
		switch {
		case p.Kind == kindTokens:
			if last >= 0 {
				blocks[last].Tokens = p.Tokens.String()
			}
			continue
		case last < 0 || blocks[last].User != user || p.Kind == kindUser || p.Model != "" && blocks[last].Model != "" && p.Model != blocks[last].Model:
			blocks = append(blocks, turnBlock{User: user})
			last++
		}
		b := &blocks[last]
		if b.At.IsZero() {
			b.At = p.At
		}
		b.Model = cmp.Or(b.Model, p.Model)
		b.Parts = append(b.Parts, p)
	}
	return blocks
}

// promptText returns the beginning of a prompt.
func promptText(parts []part) string {
	for _, p := range parts {
		words := []rune(strings.Join(strings.Fields(p.Text[:min(len(p.Text), 8*maxLinkText)]), " "))
		switch {
		case len(words) > maxLinkText:
			return strings.TrimSpace(strings.ToValidUTF8(string(words[:maxLinkText]), "")) + "…"
		case len(words) > 0:
			return strings.ToValidUTF8(string(words), "")
		}
	}
	return "an image"
}

// String returns the usage for users, "" if empty.
func (t tokenUsage) String() string {
	var list []string
	for _, e := range []struct {
		n    int64
		what string
	}{{t.Input, "read"}, {t.CacheRead, "read from the cache"}, {t.CacheWrite, "written to the cache"}, {t.Output, "written"}, {t.Thinking, "thought"}} {
		if e.n > 0 {
			list = append(list, thousands(e.n)+" "+e.what)
		}
	}
	return strings.Join(list, ", ")
}

// thousands formats a number with thousands separators.
func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Time returns the time for users.
func (b turnBlock) Time() string { return b.At.Format("2 Jan 2006, 15:04") }

// Stamp returns the time for the datetime attribute.
func (b turnBlock) Stamp() string { return b.At.Format(time.RFC3339) }

// failed reports whether the call failed.
func (c *toolCall) failed() bool { return c.State != "" || c.Exit != nil && *c.Exit != 0 }

// Status returns the outcome in words, "" for success.
func (c *toolCall) Status() string {
	if c.Exit != nil {
		return fmt.Sprintf("exit code %d", *c.Exit)
	}
	return string(c.State)
}
