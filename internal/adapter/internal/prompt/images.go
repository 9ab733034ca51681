package prompt

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// maxContent bounds one image or embedded resource, decoded, in bytes. The line of
// a whole prompt is bounded where it is read.
const maxContent = 8 << 20

// declarable are the types that an image may be declared as: those that droid takes,
// and a common misspelling of one.
var declarable = map[string]bool{"image/png": true, "image/jpeg": true, "image/jpg": true, "image/gif": true, "image/webp": true}

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

// imageType is the true type of image data, or what is wrong with it. The data
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
	for _, s := range imageSignatures {
		if s.matches(begin) {
			return s.mimeType, ""
		}
	}
	return "", "the image is declared as " + strconv.Quote(declared) + ", but its data is no png, jpeg, gif or webp image"
}

// decoded tells how the data that base64 stands for begins, and its size in bytes; ok is whether it is base64. It
// holds a piece of the data at a time.
func decoded(data string) (begin []byte, size int, ok bool) {
	const piece = 4 << 10                                             // a multiple of 4
	if strings.Contains(data, "\n") || strings.Contains(data, "\r") { // which may stand anywhere
		all, err := base64.StdEncoding.DecodeString(data)
		return all[:min(piece, len(all))], len(all), err == nil
	}
	begin, err := base64.StdEncoding.DecodeString(data[:min(piece, len(data))])
	size, buf := len(begin), make([]byte, piece)
	for rest := data[min(piece, len(data)):]; err == nil && rest != ""; {
		if size%3 != 0 { // there was padding, which ends the data
			return nil, 0, false
		}
		n := min(piece, len(rest))
		var read int
		read, err = base64.StdEncoding.Decode(buf, []byte(rest[:n]))
		size, rest = size+read, rest[n:]
	}
	return begin, size, err == nil
}

func tooLarge(what string, size int) string {
	return fmt.Sprintf("%s is too large: %.1f MiB, at most %d MiB are possible; make it smaller, or send a resource_link so that droid can open the file itself",
		what, float64(size)/(1<<20), maxContent>>20)
}
