package adapter

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"

	"droid-acp/internal/show"
)

// maxContent bounds one image or embedded resource, decoded, in bytes. Lines of
// a whole prompt are bounded by the gate.
const maxContent = 8 << 20

// contentRules are what the session at hand can take.
type contentRules struct {
	cwd      string                 // what mentions in the text are relative to
	attach   bool                   // this droid takes attached files (since 0.99)
	noImages string                 // the model in use, when it cannot see images
	missing  func(path string) bool // whether there is no such file; nil when nobody can tell
}

// imageSignatures are how the images that droid takes begin.
var imageSignatures = []struct {
	mimeType string
	matches  func([]byte) bool
}{
	{"image/png", func(b []byte) bool { return bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")) }},
	{"image/jpeg", func(b []byte) bool { return bytes.HasPrefix(b, []byte("\xff\xd8\xff")) }},
	{"image/gif", func(b []byte) bool {
		return bytes.HasPrefix(b, []byte("GIF87a")) || bytes.HasPrefix(b, []byte("GIF89a"))
	}},
	{"image/webp", func(b []byte) bool {
		return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP"
	}},
}

// imageType is the true type of image data, or what is wrong with it. Providers
// refuse images of another type than declared, so data decides.
func imageType(declared, data string) (mimeType, problem string) {
	image, err := base64.StdEncoding.DecodeString(data)
	switch {
	case err != nil || data == "":
		return "", "the image's data is not base64"
	case len(image) > maxContent:
		return "", tooLarge("the image", len(image))
	}
	for _, s := range imageSignatures {
		if s.matches(image) {
			return s.mimeType, ""
		}
	}
	return "", "the image is declared as " + strconv.Quote(declared) + ", but its data is no png, jpeg, gif or webp image"
}

func tooLarge(what string, size int) string {
	return fmt.Sprintf("%s is too large: %.1f MiB, at most %d MiB are possible; make it smaller, or send a resource_link so that droid can open the file itself",
		what, float64(size)/(1<<20), maxContent>>20)
}

// contentRules are the rules for the next prompt.
func (s *Session) contentRules() contentRules {
	return contentRules{
		cwd:      s.cwd,
		attach:   s.client == nil || !s.client.Version().IsZero(),
		noImages: s.blindModel(),
		missing: func(path string) bool {
			_, err := s.agent.stat(show.Absolute(s.cwd, path))
			return err != nil
		},
	}
}

// blindModel is the name of the model in use if it cannot see images; droid
// would tell it that an image is not shown, and the user nothing.
func (s *Session) blindModel() string {
	id := s.settings.ModelID
	if spec := s.settings.SpecModeModelID; spec != nil && *spec != "" && s.settings.Mode() == "spec" {
		id = spec
	}
	if id == nil {
		return ""
	}
	for _, m := range s.models {
		if m.ID == *id && m.NoImageSupport {
			if m.DisplayName != "" {
				return m.DisplayName
			}
			return m.ID
		}
	}
	return ""
}
