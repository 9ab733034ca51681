package prompt

import (
	"encoding/base64"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/paths"
)

// builder collects a message, block by block.
type builder struct {
	Rules
	mentioned map[string]bool // files that the user's own text mentions
	wordsLast bool            // the block before was text
	text      strings.Builder
	msg       stream.UserMessage
}

// add takes one block; it returns what is wrong with it, "" when nothing is. So do
// all methods that return a string.
func (b *builder) add(block block) string {
	behindWords := b.wordsLast
	b.wordsLast = block.Type == "text"
	switch block.Type {
	case "text":
		if behindWords && runsOn(b.text.String(), block.Text) {
			b.text.WriteByte('\n')
		}
		b.text.WriteString(block.Text)
		return ""
	case "image":
		return b.addImage(block.MimeType, block.Data)
	case "resource_link":
		return b.addLink(block.URI, block.Name)
	case "resource":
		return b.addResource(block.Resource)
	case "audio":
		return "audio is not supported; send text, images or resources"
	case "":
		return "a content block needs a type"
	}
	return "content of type " + block.Type + " is not supported; send text, images or resources"
}

// runsOn reports whether two text blocks would become one word.
func runsOn(before, text string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(text)
	return before != "" && text != "" && !unicode.IsSpace(last) && !unicode.IsSpace(first)
}

func (b *builder) addImage(mimeType, data string) string {
	if !declarable[mimeType] {
		return "images of type " + quoteOrNone(mimeType) + " are not supported; send png, jpeg, gif or webp"
	}
	mimeType, problem := imageType(mimeType, data)
	switch {
	case problem != "":
		return problem
	case b.BlindModel != "":
		return "the model " + b.BlindModel + " cannot see images; choose another model, or send the prompt without the image"
	}
	b.msg.Images = append(b.msg.Images, stream.Image{Data: data, MediaType: mimeType})
	return ""
}

// addLink mentions a resource that droid can open itself.
func (b *builder) addLink(uri, name string) string {
	if uri == "" {
		return "a resource_link needs a uri"
	}
	if problem := checkURI(uri); problem != "" {
		return problem
	}
	mention := paths.Mention(uri, name)
	if path, ok := paths.FromURI(uri); ok && b.Missing[path] {
		mention = paths.MarkMissing(mention)
	}
	b.mention(mention)
	return ""
}

func (b *builder) addResource(r *resource) string {
	if r == nil || r.URI == "" {
		return "a resource needs resource.uri"
	}
	if problem := checkURI(r.URI); problem != "" {
		return problem
	}
	switch {
	case r.Text != nil && len(*r.Text) > maxContent:
		return tooLarge("the resource "+r.URI, len(*r.Text))
	case r.Text != nil:
		b.addText(r.URI, *r.Text)
		return ""
	case r.Blob == nil:
		return "a resource needs text or blob"
	case base64.StdEncoding.DecodedLen(len(*r.Blob)) > maxContent+2:
		return tooLarge("the resource "+r.URI, base64.StdEncoding.DecodedLen(len(*r.Blob)))
	}
	return b.addBlob(r.URI, r.MimeType, *r.Blob)
}

func (b *builder) addBlob(uri, mimeType, blob string) string {
	if strings.HasPrefix(mimeType, "image/") {
		b.mention(paths.Mention(uri, ""))
		return b.addImage(mimeType, blob)
	}
	data, err := base64.StdEncoding.DecodeString(blob)
	switch {
	case err != nil || blob == "":
		return "the resource's blob is not base64"
	case mimeType == "application/pdf" && b.AttachFiles:
		b.mention(paths.Mention(uri, ""))
		b.msg.Files = append(b.msg.Files, stream.File{
			MediaType: mimeType, Data: blob, Base64: true, Name: path.Base(pathOf(uri))})
		return ""
	case strings.HasPrefix(mimeType, "text/"):
		b.addText(uri, string(data))
		return ""
	}
	return "embedded resources of type " + quoteOrNone(mimeType) + " are not supported; send a resource_link so that droid can open the file itself"
}

// addText attaches the text of a resource, named by its path, and mentions it.
func (b *builder) addText(uri, text string) {
	b.mention(paths.Mention(uri, ""))
	name := pathOf(uri)
	if b.AttachFiles {
		b.msg.Files = append(b.msg.Files, stream.File{MediaType: "text/plain", Data: text, Name: name})
		return
	}
	b.text.WriteString("\n<attached-file name=" + strings.ReplaceAll(name, "\n", " ") + ">\n" + text + "\n</attached-file>\n")
}

// mention writes a mention, separated from the words around it, unless the user's own text has it already or it is the last word so far.
func (b *builder) mention(mention string) {
	if path, ok := strings.CutPrefix(mention, "@"); ok && b.mentioned[path] {
		return
	}
	if strings.HasSuffix(" "+b.text.String(), " "+mention+" ") {
		return
	}
	if s := b.text.String(); s != "" && !strings.HasSuffix(s, " ") && !strings.HasSuffix(s, "\n") {
		b.text.WriteByte(' ')
	}
	b.text.WriteString(mention)
	b.text.WriteByte(' ')
}

// pathOf returns the file path of a file URI, or the URI itself.
func pathOf(uri string) string {
	if path, ok := paths.FromURI(uri); ok {
		return path
	}
	return uri
}

// checkURI returns what is wrong with the address of a resource, "" when nothing is.
func checkURI(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" && strings.Contains(u.Path, "\x00") {
		return "the uri " + strconv.Quote(uri) + " names a file with a NUL in its name, and there is none"
	}
	return ""
}

func quoteOrNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return `"` + s + `"`
}
