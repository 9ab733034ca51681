package prompt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// message is the message of a prompt.
func message(raw string, rules Rules) (stream.UserMessage, error) {
	p, err := Parse(json.RawMessage(raw))
	if err != nil {
		return stream.UserMessage{}, err
	}
	return p.Message(rules)
}

func TestMessage(t *testing.T) {
	png := "iVBORw0KGgo="
	for _, tc := range []struct {
		name, prompt string
		old          bool // a droid that takes no attached files
		want         stream.UserMessage
	}{
		{name: "text blocks join as they stand",
			prompt: `[{"type":"text","text":"a "},{"type":"text","text":"b"}]`,
			want:   stream.UserMessage{Text: "a b"}},
		{name: "text blocks do not become one word",
			prompt: `[{"type":"text","text":"see a.txt"},{"type":"text","text":"file"},{"type":"text","text":"\nend"}]`,
			want:   stream.UserMessage{Text: "see a.txt\nfile\nend"}},
		{name: "a file link is mentioned by its path",
			prompt: `[{"type":"text","text":"see"},{"type":"resource_link","uri":"file:///w/a%20b.txt","name":"a b.txt"},{"type":"text","text":"ok"}]`,
			want:   stream.UserMessage{Text: "see @/w/a b.txt ok"}},
		{name: "lines of a file link are told",
			prompt: `[{"type":"resource_link","uri":"file:///w/a.go#L10:20","name":"a.go"}]`,
			want:   stream.UserMessage{Text: "@/w/a.go (L10:20) "}},
		{name: "a file link that names this machine",
			prompt: `[{"type":"resource_link","uri":"file://localhost/w/a.go","name":"a.go"}]`,
			want:   stream.UserMessage{Text: "@/w/a.go "}},
		{name: "a file of another machine is no file here",
			prompt: `[{"type":"resource_link","uri":"file://host/x","name":"x"}]`,
			want:   stream.UserMessage{Text: "x (file://host/x) "}},
		{name: "an embedded file of another machine",
			prompt: `[{"type":"resource","resource":{"uri":"file://host/x","text":"body"}}]`,
			want: stream.UserMessage{Text: "file://host/x ",
				Files: []stream.File{{MediaType: "text/plain", Data: "body", Name: "file://host/x"}}}},
		{name: "a file link without a path",
			prompt: `[{"type":"resource_link","uri":"file:a.txt","name":"a"},{"type":"resource_link","uri":"file://","name":"b"}]`,
			want:   stream.UserMessage{Text: "a (file:a.txt) b (file://) "}},
		{name: "a file whose name has lines stays an address",
			prompt: `[{"type":"resource_link","uri":"file:///w/a%0Ab%1B","name":"a"}]`,
			want:   stream.UserMessage{Text: "a (file:///w/a%0Ab%1B) "}},
		{name: "another link is told with its name",
			prompt: `[{"type":"resource_link","uri":"https://example.com/x","name":"the page"}]`,
			want:   stream.UserMessage{Text: "the page (https://example.com/x) "}},
		{name: "an embedded text is attached",
			prompt: `[{"type":"text","text":"read"},{"type":"resource","resource":{"uri":"file:///w/a.txt","text":"body"}}]`,
			want: stream.UserMessage{Text: "read @/w/a.txt ",
				Files: []stream.File{{MediaType: "text/plain", Data: "body", Name: "/w/a.txt"}}}},
		{name: "an old droid gets an embedded text in the message", old: true,
			prompt: `[{"type":"resource","resource":{"uri":"file:///w/a.txt","text":"body"}}]`,
			want:   stream.UserMessage{Text: "@/w/a.txt \n<attached-file name=/w/a.txt>\nbody\n</attached-file>\n"}},
		{name: "an image",
			prompt: `[{"type":"image","mimeType":"image/png","data":"` + png + `"}]`,
			want:   stream.UserMessage{Images: []stream.Image{{Data: png, MediaType: "image/png"}}}},
		{name: "an image of another type than declared",
			prompt: `[{"type":"image","mimeType":"image/jpg","data":"` + png + `"}]`,
			want:   stream.UserMessage{Images: []stream.Image{{Data: png, MediaType: "image/png"}}}},
		{name: "an embedded image",
			prompt: `[{"type":"resource","resource":{"uri":"file:///w/a.png","mimeType":"image/png","blob":"` + png + `"}}]`,
			want:   stream.UserMessage{Text: "@/w/a.png ", Images: []stream.Image{{Data: png, MediaType: "image/png"}}}},
		{name: "an embedded pdf",
			prompt: `[{"type":"resource","resource":{"uri":"file:///w/a.pdf","mimeType":"application/pdf","blob":"JVBERg=="}}]`,
			want: stream.UserMessage{Text: "@/w/a.pdf ",
				Files: []stream.File{{MediaType: "application/pdf", Data: "JVBERg==", Base64: true, Name: "a.pdf"}}}},
		{name: "an embedded text blob",
			prompt: `[{"type":"resource","resource":{"uri":"file:///w/a.csv","mimeType":"text/csv","blob":"YSxi"}}]`,
			want: stream.UserMessage{Text: "@/w/a.csv ",
				Files: []stream.File{{MediaType: "text/plain", Data: "a,b", Name: "/w/a.csv"}}}},
		{name: "what the text mentions is not mentioned again",
			prompt: `[{"type":"resource_link","uri":"file:///w/sub/b.go","name":"b"},{"type":"text","text":"(see @a.txt, and @/w/sub/b.go)"},{"type":"resource","resource":{"uri":"file:///w/a.txt","text":"body"}}]`,
			want: stream.UserMessage{Text: "(see @a.txt, and @/w/sub/b.go)",
				Files: []stream.File{{MediaType: "text/plain", Data: "body", Name: "/w/a.txt"}}}},
		{name: "a file that is linked and embedded, as Qt Creator does, is mentioned once",
			prompt: `[{"type":"text","text":"look"},{"type":"resource_link","uri":"file:///w/a.txt","name":"a.txt"},{"type":"resource","resource":{"uri":"file:///w/a.txt","text":"body"}}]`,
			want: stream.UserMessage{Text: "look @/w/a.txt ",
				Files: []stream.File{{MediaType: "text/plain", Data: "body", Name: "/w/a.txt"}}}},
		{name: "a file that is mentioned in two places keeps both",
			prompt: `[{"type":"resource_link","uri":"file:///w/a.txt","name":"a.txt"},{"type":"text","text":"is not what"},{"type":"resource_link","uri":"file:///w/a.txt","name":"a.txt"},{"type":"text","text":"was"},{"type":"resource_link","uri":"file:///w/b/w/a.txt","name":"a.txt"}]`,
			want:   stream.UserMessage{Text: "@/w/a.txt is not what @/w/a.txt was @/w/b/w/a.txt "}},
		{name: "another file of that name, or other lines, are mentioned",
			prompt: `[{"type":"text","text":"see @b.go"},{"type":"resource_link","uri":"file:///w/sub/b.go","name":"b"},{"type":"resource_link","uri":"file:///w/b.go#L3","name":"b"}]`,
			want:   stream.UserMessage{Text: "see @b.go @/w/sub/b.go @/w/b.go (L3) "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := message(tc.prompt, Rules{AttachFiles: !tc.old, Dir: "/w"})
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	for prompt, says := range map[string]string{
		`[]`:   "at least one content block",
		`null`: "at least one content block",
		`"hi"`: "list of content blocks",
		`[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]`: "audio is not supported",
		`[{"type":"video"}]`: "not supported",
		`[{"text":"hi"}]`:    "needs a type",
		`[{"type":"image","mimeType":"image/tiff","data":"AAAA"}]`: "png, jpeg, gif or webp",
		`"hello"`: "it is of the JSON type string",
		`[{"type":"image","mimeType":"image/png","uri":"file:///a.png"}]`:                                                            "the image has no data; send a resource_link",
		`[{"type":"image","mimeType":"image/png","data":"%%%"}]`:                                                                     "not base64",
		`[{"type":"image","mimeType":"image/png","data":"aGVsbG8="}]`:                                                                "declared as \"image/png\", but its data is no png",
		`[{"type":"resource_link","name":"x"}]`:                                                                                      "needs a uri",
		`[{"type":"resource"}]`:                                                                                                      "resource.uri",
		`[{"type":"resource_link","uri":"file:///a%00b","name":"x"}]`:                                                                "NUL",
		`[{"type":"resource","resource":{"uri":"file:///a%00b","text":"x"}}]`:                                                        "NUL",
		`[{"type":"resource","resource":{"uri":"file:///a"}}]`:                                                                       "text or blob",
		`[{"type":"text","text":"a"},{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/zip","blob":"AAAA"}}]`: "prompt[1]",
	} {
		_, err := message(prompt, Rules{AttachFiles: true})
		require.ErrorContains(t, err, says, prompt)
		require.IsType(t, new(Error), err)
	}
}

func TestRules(t *testing.T) {
	image := `[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]`
	_, err := message(image, Rules{BlindModel: "Blind One"})
	require.ErrorContains(t, err, "the model Blind One cannot see images")

	link := `[{"type":"resource_link","uri":"file:///w/gone.txt","name":"gone"},{"type":"resource_link","uri":"file:///w/here.txt","name":"here"},{"type":"resource_link","uri":"https://example.com","name":"x"}]`
	got, err := message(link, Rules{Missing: map[string]bool{"/w/gone.txt": true}})
	require.NoError(t, err)
	require.Equal(t, "@/w/gone.txt (there is no such file) @/w/here.txt x (https://example.com) ", got.Text)

	page := `[{"type":"resource_link","uri":"https://example.com","name":"@page"}]`
	got, err = message(page, Rules{Missing: map[string]bool{"https://example.com": true, "": true}})
	require.NoError(t, err)
	require.Equal(t, "@page (https://example.com) ", got.Text, "no file, though its name begins like a mention")
}

func TestContentTooLarge(t *testing.T) {
	large := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, maxContent)...))
	for name, prompt := range map[string]string{
		"image":    `[{"type":"image","mimeType":"image/png","data":"` + large + `"}]`,
		"resource": `[{"type":"resource","resource":{"uri":"file:///a.pdf","mimeType":"application/pdf","blob":"` + large + `"}}]`,
		"text":     `[{"type":"resource","resource":{"uri":"file:///a.txt","text":"` + large + `"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := message(prompt, Rules{AttachFiles: true})
			require.ErrorContains(t, err, "at most 8 MiB")
		})
	}
}

func TestImageTypes(t *testing.T) {
	for want, data := range map[string]string{
		"image/png": "\x89PNG\r\n\x1a\n.", "image/jpeg": "\xff\xd8\xff\xe0", "image/gif": "GIF89a..", "image/webp": "RIFF....WEBPVP8 ",
	} {
		got, problem := imageType("image/png", base64.StdEncoding.EncodeToString([]byte(data)))
		require.Empty(t, problem)
		require.Equal(t, want, got)
	}
}

// Qt Creator attaches the open file, and what it shows of it, to each prompt.
func TestText(t *testing.T) {
	const link = `{"type":"resource_link","uri":"file:///w/a","name":"a"}`
	const shown = `{"type":"resource","resource":{"uri":"file:///w/a","text":"line 1"}}`
	for raw, want := range map[string]string{
		`[{"type":"text","text":"/help me"}]`:                          "/help me",
		`[{"type":"text","text":"/help"},{"type":"text","text":"me"}]`: "",
		`[` + link + `]`: "",
		`[{"type":"text","text":"/help"},` + link + `]`:                                                                          "/help",
		`[{"type":"text","text":"/help"},` + link + `,` + shown + `]`:                                                            "/help",
		`[` + link + `,{"type":"text","text":"/help me"}]`:                                                                       "/help me",
		`[{"type":"text","text":"/export "},` + link + `]`:                                                                       "",
		`[{"type":"text","text":"/rename x\n"},` + shown + `]`:                                                                   "",
		`[{"type":"text","text":"/help"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]`:                         "",
		`[{"type":"text","text":"/help"},{"type":"resource","resource":{"uri":"a","mimeType":"application/pdf","blob":"AAAA"}}]`: "",
		`[{"type":"image","text":"/help","mimeType":"image/png","data":"iVBORw0KGgo="}]`:                                         "",
	} {
		p, err := Parse(json.RawMessage(raw))
		require.NoError(t, err)
		text, ok := p.Text()
		require.Equal(t, want, text, raw)
		require.Equal(t, want != "", ok, raw)
	}
}

// Whatever an editor sends, it becomes a message or a refusal with a word to say.
func FuzzPrompt(f *testing.F) {
	f.Add([]byte(`[{"type":"text","text":"see @a.txt"},{"type":"resource_link","uri":"file:///w/a.txt#L1","name":"a"}]`))
	f.Add([]byte(`[{"type":"resource","resource":{"uri":"file:///w/a.txt","text":"x"}},{"type":"text","text":"x"}]`))
	f.Add([]byte(`[{"type":"resource","resource":{"uri":"a","mimeType":"application/pdf","blob":"AAAA"}},{"type":"audio"}]`))
	f.Add([]byte(`[{"type":"image","mimeType":"image/jpg","data":"iVBORw0KGgo="}]`))
	f.Add([]byte(`[{"type":"resource_link","uri":"https://x/","name":"@x"}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Parse(raw)
		if err == nil {
			rules := Rules{Dir: "/w", AttachFiles: len(raw)%2 == 0, Missing: map[string]bool{}}
			for _, path := range p.Links() {
				rules.Missing[path] = true
			}
			var again, message stream.UserMessage
			if message, err = p.Message(rules); err == nil {
				again, err = p.Message(rules)
				require.Equal(t, message, again)
				require.NoError(t, err)
				require.False(t, !rules.AttachFiles && len(message.Files) > 0)
			}
		}
		if err != nil {
			require.IsType(t, new(Error), err)
			require.NotEmpty(t, err.Error())
		}
	})
}

// Without removes the blocks of another prompt if a prompt begins with all of them and has more.
func TestWithout(t *testing.T) {
	parsed := func(texts ...string) Prompt {
		p := Prompt{}
		for _, text := range texts {
			p.blocks = append(p.blocks, block{Type: "text", Text: text, Resource: &resource{URI: text}})
		}
		return p
	}
	require.Equal(t, parsed("c"), parsed("a", "b", "c").Without(parsed("a", "b").Marks()))
	for _, other := range []Prompt{{}, parsed("b"), parsed("a", "x"), parsed("a", "b", "c"), parsed("a", "b", "c", "d")} {
		require.Equal(t, parsed("a", "b", "c"), parsed("a", "b", "c").Without(other.Marks()))
	}
}

// An image is copied once, from the editor's message: examining it takes a piece at a time.
func TestImageIsHeldOnce(t *testing.T) {
	data := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 5<<20)...))
	raw := json.RawMessage(`[{"type":"image","mimeType":"image/png","data":"` + data + `"}]`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := Parse(raw)
	require.NoError(t, err)
	for range 3 { // as often as a prompt is looked at on its way
		message, err := p.Message(Rules{})
		require.NoError(t, err)
		require.Len(t, message.Images, 1)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(data)+len(data)/4))
}

// Piece by piece base64 is the same as in one: data of any length, padding in the middle, signs of no meaning.
func TestDecodedIsBase64(t *testing.T) {
	whole := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("abc"), 5000))
	for _, data := range []string{"", "YQ==", "YWI=", "YWJj", "YQ", "YQ=", "Y", "=", whole, whole + "YQ==", whole + "YQ", whole[:4094] + "==", whole[:4094] + "==" + whole,
		whole[:4095] + "=" + whole, whole + "!", whole[:5000] + "\r\n" + whole[5000:], whole[:4096] + "\n" + whole[4096:], "é" + whole, whole + "===="} {
		want, err := base64.StdEncoding.DecodeString(data)
		begin, size, ok := decoded(data)
		require.Equal(t, err == nil, ok, "%.20q of %d", data, len(data))
		if ok {
			require.Equal(t, len(want), size)
			require.Equal(t, want[:min(12, len(want))], begin[:min(12, len(begin))])
		}
	}
}
