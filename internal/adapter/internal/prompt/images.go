package prompt

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxContent bounds one image or embedded resource, decoded, in bytes. The line of
// a whole prompt is bounded where it is read.
const maxContent = 8 << 20

// declarable are the types that an image may be declared as: those that droid takes,
// and a common misspelling of one.
var declarable = map[string]bool{"image/png": true, "image/jpeg": true, "image/jpg": true, "image/gif": true, "image/webp": true}

// beginning is the length of an image's start that shows its type, in bytes.
const beginning = 12

// typeOf returns the type of an image that begins so, "" of what droid does not take.
func typeOf(begin string) string {
	switch {
	case strings.HasPrefix(begin, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(begin, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(begin, "GIF87a"), strings.HasPrefix(begin, "GIF89a"):
		return "image/gif"
	case len(begin) >= beginning && begin[:4] == "RIFF" && begin[8:12] == "WEBP":
		return "image/webp"
	}
	return ""
}

// imageType returns the true type of image data, or what is wrong with it. The data
// decides, because providers refuse images of another type than declared.
func imageType(declared, data string) (mimeType, problem string) {
	begin, size, ok := decoded(data)
	switch {
	case data == "":
		return "", "the image has no data; send a resource_link so that droid can open the file itself"
	case !ok:
		return "", "the image's data is not base64"
	case size > maxContent:
		return "", tooLarge("the image", size)
	}
	if mimeType = typeOf(string(begin)); mimeType != "" {
		return mimeType, ""
	}
	return "", "the image is declared as " + strconv.Quote(declared) + ", but its data is no png, jpeg, gif or webp image"
}

// decoded returns the beginning of the data that base64 encodes, and its size in bytes; ok is false if it is not base64. It decodes piece
// by piece.
func decoded(data string) (begin []byte, size int, ok bool) {
	r, begin := base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), make([]byte, beginning)
	n, _ := io.ReadFull(r, begin) // the decoder repeats its error
	rest, err := io.Copy(io.Discard, r)
	goesOn := strings.Contains(strings.TrimRight(data, "=\r\n"), "=") // behind padding, which the decoder may let pass
	return begin[:n], n + int(rest), err == nil && !goesOn
}

func tooLarge(what string, size int) string {
	return fmt.Sprintf("%s is too large: %.1f MiB, at most %d MiB are possible; make it smaller, or send a resource_link so that droid can open the file itself",
		what, float64(size)/(1<<20), maxContent>>20)
}
