package stream

import "encoding/json"

// UserMessage is one prompt.
type UserMessage struct {
	RequestID string  // echoed by MessageCreated; unique, "" for a generated one
	Text      string  // may be empty
	Images    []Image // droid tells a model without image support that there was one
	Files     []File
	MessageID string // of the message in droid's history; honoured since 0.215
	// Schema is a JSON schema that the last text of the turn must match, nil for none; see StructuredOutput and TakesSchema. droid makes
	// the model try up to three times.
	Schema json.RawMessage
}

// Image is an image of a prompt.
type Image struct {
	Data      string // base64
	MediaType string // such as "image/png"
}

// MarshalJSON writes droid's format; others are refused (0.99 to 0.225).
func (i Image) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type      string `json:"type"`
		Data      string `json:"data"`
		MediaType string `json:"mediaType"`
	}{"base64", i.Data, i.MediaType})
}

// File is an attached file. droid shows a text to the model as an attachment with that name, and a PDF as a document.
type File struct {
	Name      string
	MediaType string // such as "text/plain" or "application/pdf"
	Data      string // the text itself, or base64 when Base64
	Base64    bool
}

// MarshalJSON writes droid's format.
func (f File) MarshalJSON() ([]byte, error) {
	kind := "text"
	if f.Base64 {
		kind = "base64"
	}
	return json.Marshal(struct {
		Type      string `json:"type"`
		MediaType string `json:"mediaType"`
		Data      string `json:"data"`
		Name      string `json:"name"`
	}{kind, f.MediaType, f.Data, f.Name})
}

// Answers answer a QuestionRequest.
type Answers struct {
	Cancelled bool     `json:"cancelled"`
	Answers   []Answer `json:"answers"` // one for each question
}

// Answer answers one Question, whose Index and Question it repeats. droid accepts free text, and hangs on answers of another form (0.57).
type Answer struct {
	Index    int    `json:"index"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Millis is a time in milliseconds since 1970, 0 if droid wrote anything else.
type Millis int64

// UnmarshalJSON never fails: a message is worth more than its time.
func (m *Millis) UnmarshalJSON(data []byte) error {
	var n float64
	if *m = 0; json.Unmarshal(data, &n) == nil && n > 0 && n < 1<<52 {
		*m = Millis(n)
	}
	return nil
}

// LenientString is a string, "" if droid wrote anything else.
type LenientString string

// UnmarshalJSON never fails, like that of Millis.
func (l *LenientString) UnmarshalJSON(data []byte) error {
	var s string
	_ = json.Unmarshal(data, &s)
	*l = LenientString(s)
	return nil
}

// LenientStrings is a list of strings, nil if droid wrote anything else.
type LenientStrings []string

// UnmarshalJSON never fails, like that of Millis.
func (l *LenientStrings) UnmarshalJSON(data []byte) error {
	var list []string
	if *l = nil; json.Unmarshal(data, &list) == nil {
		*l = list
	}
	return nil
}
