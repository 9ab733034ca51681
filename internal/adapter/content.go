package adapter

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/show"
)

// contentBlock is one block of a prompt (ACP v1, ContentBlock). Own type: the
// SDK's takes unknown variants for others (field notes acp.md, defect 11).
type contentBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource *struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     *string `json:"blob"`
	} `json:"resource"`
}

// imageTypes are the images that droid takes.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// userMessage turns a prompt into droid's message. Text stays in order;
// resources appear in it as a mention where they stood. A droid that takes no
// attached files gets the text of embedded resources within the message.
func userMessage(prompt json.RawMessage, rules contentRules) (stream.UserMessage, *acp.RequestError) {
	var blocks []contentBlock
	if err := json.Unmarshal(prompt, &blocks); err != nil {
		return stream.UserMessage{}, invalidParams("prompt must be a list of content blocks: %v", err)
	}
	if len(blocks) == 0 {
		return stream.UserMessage{}, invalidParams("prompt is empty; send at least one content block")
	}
	b := messageBuilder{contentRules: rules, mentioned: mentionedFiles(blocks, rules.cwd)}
	for i, block := range blocks {
		if err := b.add(block); err != "" {
			return stream.UserMessage{}, invalidParams("prompt[%d]: %s", i, err)
		}
	}
	b.msg.Text = b.text.String()
	return b.msg, nil
}

// messageBuilder collects a droid.UserMessage.
type messageBuilder struct {
	contentRules
	mentioned map[string]bool // files that the user's own text mentions
	wordsLast bool            // the block before was text
	text      strings.Builder
	msg       stream.UserMessage
}

// mentionedFiles are the paths that the text blocks mention as "@path", as some
// clients leave it there when they send the file too.
func mentionedFiles(blocks []contentBlock, cwd string) map[string]bool {
	files := map[string]bool{}
	for _, block := range blocks {
		if block.Type != "text" {
			continue
		}
		for _, word := range strings.Fields(block.Text) {
			if path, ok := strings.CutPrefix(strings.TrimLeft(word, "(\"'`"), "@"); ok {
				files[show.Absolute(cwd, strings.TrimRight(path, ".,:;!?)\"'`"))] = true
			}
		}
	}
	return files
}

// add takes one block; it returns what is wrong with it, if anything.
func (b *messageBuilder) add(block contentBlock) string {
	defer func() { b.wordsLast = block.Type == "text" }()
	switch block.Type {
	case "text":
		if b.wordsLast && runsOn(b.text.String(), block.Text) {
			b.text.WriteByte('\n')
		}
		b.text.WriteString(block.Text)
	case "image":
		return b.addImage(block.MimeType, block.Data)
	case "resource_link":
		if block.URI == "" {
			return "a resource_link needs a uri"
		}
		if problem := checkURI(block.URI); problem != "" {
			return problem
		}
		b.mention(b.link(block.URI, block.Name))
	case "resource":
		return b.addResource(block)
	case "audio":
		return "audio is not supported; send text, images or resources"
	case "":
		return "a content block needs a type"
	default:
		return "content of type " + block.Type + " is not supported; send text, images or resources"
	}
	return ""
}

// runsOn reports whether two text blocks would become one word.
func runsOn(before, text string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(text)
	return before != "" && text != "" && !unicode.IsSpace(last) && !unicode.IsSpace(first)
}

func (b *messageBuilder) addImage(mimeType, data string) string {
	if !imageTypes[mimeType] && mimeType != "image/jpg" {
		return "images of type " + quoteOrNone(mimeType) + " are not supported; send png, jpeg, gif or webp"
	}
	mimeType, problem := imageType(mimeType, data)
	switch {
	case problem != "":
		return problem
	case b.noImages != "":
		return "the model " + b.noImages + " cannot see images; choose another model, or send the prompt without the image"
	}
	b.msg.Images = append(b.msg.Images, stream.Image{Data: data, MediaType: mimeType})
	return ""
}

func (b *messageBuilder) addResource(block contentBlock) string {
	r := block.Resource
	switch {
	case r == nil || r.URI == "":
		return "a resource needs resource.uri"
	case checkURI(r.URI) != "":
		return checkURI(r.URI)
	case r.Text != nil:
		if len(*r.Text) > maxContent {
			return tooLarge("the resource "+r.URI, len(*r.Text))
		}
		b.addText(r.URI, *r.Text)
		return ""
	case r.Blob == nil:
		return "a resource needs text or blob"
	case base64.StdEncoding.DecodedLen(len(*r.Blob)) > maxContent+2:
		return tooLarge("the resource "+r.URI, base64.StdEncoding.DecodedLen(len(*r.Blob)))
	case strings.HasPrefix(r.MimeType, "image/"):
		b.mention(mention(r.URI, ""))
		return b.addImage(r.MimeType, *r.Blob)
	case !isBase64(*r.Blob):
		return "the resource's blob is not base64"
	case r.MimeType == "application/pdf" && b.attach:
		b.mention(mention(r.URI, ""))
		b.msg.Files = append(b.msg.Files, stream.File{
			MediaType: r.MimeType, Data: *r.Blob, Base64: true, Name: path.Base(uriPath(r.URI))})
		return ""
	case strings.HasPrefix(r.MimeType, "text/"):
		text, err := base64.StdEncoding.DecodeString(*r.Blob)
		if err != nil {
			return "the resource's blob is not base64"
		}
		b.addText(r.URI, string(text))
		return ""
	}
	return "embedded resources of type " + quoteOrNone(r.MimeType) + " are not supported; send a resource_link so that droid can open the file itself"
}

// addText attaches the text of a resource, named by its path, and mentions it.
func (b *messageBuilder) addText(uri, text string) {
	b.mention(mention(uri, ""))
	name := uriPath(uri)
	if b.attach {
		b.msg.Files = append(b.msg.Files, stream.File{MediaType: "text/plain", Data: text, Name: name})
		return
	}
	b.text.WriteString("\n<attached-file name=" + strings.ReplaceAll(name, "\n", " ") + ">\n" + text + "\n</attached-file>\n")
}

// mention writes a reference, kept apart from the words around it, unless the text
// has it already.
func (b *messageBuilder) mention(ref string) {
	if path, ok := strings.CutPrefix(ref, "@"); ok && b.mentioned[path] {
		return
	}
	if s := b.text.String(); s != "" && !strings.HasSuffix(s, " ") && !strings.HasSuffix(s, "\n") {
		b.text.WriteByte(' ')
	}
	b.text.WriteString(ref)
	b.text.WriteByte(' ')
}

// link names a resource that droid can open itself. That a file is not there is
// said: the model could search for it long.
func (b *messageBuilder) link(uri, name string) string {
	ref := mention(uri, name)
	if strings.HasPrefix(ref, "@") && b.missing != nil && b.missing(uriPath(uri)) {
		ref += show.NoSuchFile
	}
	return ref
}

// mention is how a resource is named to the model: the path of a file with its
// lines, or the address of anything else.
func mention(uri, name string) string {
	if path, ok := filePath(uri); ok {
		ref := "@" + path
		if u, err := url.Parse(uri); err == nil && u.Fragment != "" {
			ref += " (" + u.Fragment + ")"
		}
		return ref
	}
	if name == "" || name == uri {
		return uri
	}
	return name + " (" + uri + ")"
}

// uriPath is the file path of a file URI, or the URI itself.
func uriPath(uri string) string {
	if path, ok := filePath(uri); ok {
		return path
	}
	return uri
}

// filePath is the path of a file URI. A file of another machine has none here, and
// one whose name has control characters is told by its address, in which they are
// escaped.
func filePath(uri string) (path string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" || u.Host != "" && u.Host != "localhost" || strings.ContainsFunc(u.Path, unicode.IsControl) {
		return "", false
	}
	p := u.Path
	// file:///C:/x parses to /C:/x, which is no path on Windows.
	if len(p) > 2 && p[0] == '/' && p[2] == ':' {
		p = p[1:]
	}
	return filepath.FromSlash(p), true
}

// checkURI returns what is wrong with the address of a resource, if anything.
func checkURI(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" && strings.Contains(u.Path, "\x00") {
		return "the uri " + strconv.Quote(uri) + " names a file with a NUL in its name, and there is none"
	}
	return ""
}

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil && s != ""
}

func quoteOrNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return `"` + s + `"`
}
