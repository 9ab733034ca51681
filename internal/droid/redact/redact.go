// Package redact replaces secrets in texts and lines of JSON that a person gives to others: recordings and reports. Its main type is
// Redactor. cli/trace and adapter/report use it.
package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"droid-acp/internal/droid/config"
)

// Mark replaces a secret.
const Mark = "[redacted]"

const (
	// minSecret is the shortest value, in bytes, that is replaced wherever it occurs: shorter ones occur by chance.
	minSecret = 6
	// maxSecrets bounds how many values are known.
	maxSecrets = 1000
)

// Redactor replaces secrets in lines: values that it knows, the values of fields that are named like secrets, which it then knows, too, and
// what looks like a secret in a text. It is not safe for concurrent use.
type Redactor struct {
	home   string // whose settings are to be read; "" if they were, or none are
	getenv func(string) string
	known  map[string]bool
	values *strings.Replacer // of known; nil if it must be made again
}

// New returns a Redactor that knows the values of variables in environ whose names are those of secrets, and the secrets in the
// settings files of droid's home directory, "" for none. It reads these with the first call: a disk may not answer.
func New(environ []string, home string) *Redactor {
	r := &Redactor{home: home, known: map[string]bool{}}
	variables := map[string]string{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		variables[name] = value
		if secretVariable().MatchString(name) {
			r.learn(value)
		}
	}
	r.getenv = func(name string) string { return variables[name] }
	return r
}

// secretVariable matches names of variables whose values are secrets. GIT_AUTHOR_NAME is none.
var secretVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|credential|auth([^o]|$)`)
})

func (r *Redactor) readSettings() {
	home := r.home
	if r.home = ""; home == "" {
		return
	}
	for _, file := range config.UserFiles(home, "settings.json", "settings.local.json", "config.json", "mcp.json") {
		var content any
		if found, err := file.Decode(&content); found && err == nil {
			if data, err := json.Marshal(content); err == nil {
				r.Line(data)
			}
		}
	}
}

var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{?(\w+)\}?$`) })

func (r *Redactor) learn(value string) {
	if m := reference().FindStringSubmatch(value); m != nil && r.getenv != nil {
		value = r.getenv(m[1])
	}
	if scheme, rest, is := strings.Cut(value, " "); is && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
		r.learn(rest)
	}
	if len(value) < minSecret || r.known[value] || len(r.known) >= maxSecrets {
		return
	}
	inJSON, _ := json.Marshal(value) // a string is always encoded
	for _, form := range []string{value, string(inJSON[1 : len(inJSON)-1]), url.QueryEscape(value)} {
		r.known[form] = true
	}
	r.values = nil
}

// Line returns a line with its secrets replaced. JSON stays JSON, with the order of its members; isJSON reports whether it is.
func (r *Redactor) Line(line []byte) (text []byte, isJSON bool) {
	r.readSettings()
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	w := &jsonWriter{r: r, d: d}
	if w.value(plain, false) == nil {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return w.out.Bytes(), true
		}
	}
	return []byte(r.Text(string(line))), false
}

// textSecrets are the forms of secrets in a text. A pattern is tried if the text, in lower case, has one of its words: that is fast.
// They are compiled when one is needed, since that would delay each start.
var textSecrets = sync.OnceValue(func() []textSecret {
	return []textSecret{
		// the user in a URL, and parameters of it
		{[]string{"://"}, regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s"'<>@]+@`), "${1}" + Mark + "@"},
		{secretWords, regexp.MustCompile(`(?i)([?&][\w.-]*(?:token|key|secret|password|auth|signature)[\w.-]*=)[^&\s"'#]+`), "${1}" + Mark},
		// headers: a credential may follow a scheme of any name
		{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization` + assigns + `)(?:((?:bearer|basic|token)\s+)[^\s"',;]+|[^\s"',;]+(?:[ \t]+[^\s"',;]+)?)`), "${1}${2}" + Mark},
		{[]string{"api-key"}, regexp.MustCompile(`(?i)(api-key` + assigns + `)[^\s"',;]+`), "${1}" + Mark},
		{[]string{"cookie"}, regexp.MustCompile(`(?i)(cookie` + assigns + `)[^\s"',;]+(?:;[ \t]*[^\s"',;]+)*`), "${1}" + Mark},
		{[]string{"bearer"}, regexp.MustCompile(`(?i)\b(bearer\s+)[\w.~+/=-]{8,}`), "${1}" + Mark},
		// assignments, in a shell or a file, and flags
		{secretWords, regexp.MustCompile(`(?i)\b(\w*(?:(?:api|access|secret|private)_?key|token|secret|password|passwd|passphrase)` + assigns + `)(?:[^\s"'&;,)\\]|\\[^"']){6,}`), "${1}" + Mark},
		{secretWords, regexp.MustCompile(`(?i)(--[\w-]*(?:(?:api|access|secret|private)-?key|token|secret|password|passwd|passphrase)[ \t]+["']?)[^\s"'&;,)-][^\s"'&;,)]{5,}`), "${1}" + Mark},
		{[]string{"private key"}, regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)(?:.*?(-----END)|[^-]*)`), "${1}" + Mark + "${2}"},
	}
})

// assigns matches what stands between a name, possibly in quotes, and its value. The quotes may be escaped, as in a text of JSON.
const assigns = `\\*["']?\s*[:=]\s*\\*["']?`

type textSecret struct {
	words   []string
	pattern *regexp.Regexp
	with    string
}

var secretWords = []string{"token", "key", "secret", "passw", "passphrase", "auth", "signature"}

// Text returns a text with its secrets replaced.
func (r *Redactor) Text(text string) string {
	r.readSettings()
	if r.values == nil {
		known := make([]string, 0, len(r.known))
		for value := range r.known {
			known = append(known, value)
		}
		slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) }) // one may contain another
		pairs := make([]string, 0, 2*len(known))
		for _, value := range known {
			pairs = append(pairs, value, Mark)
		}
		r.values = strings.NewReplacer(pairs...)
	}
	text = r.values.Replace(text)
	if !strings.ContainsAny(text, "=:- ") {
		return text
	}
	lower := strings.ToLower(text)
	for _, s := range textSecrets() {
		if slices.ContainsFunc(s.words, func(word string) bool { return strings.Contains(lower, word) }) {
			text = s.pattern.ReplaceAllString(text, s.with)
		}
	}
	return text
}

// visibility says how strings within a value are treated.
type visibility int

const (
	plain   visibility = iota // secrets are replaced
	hidden                    // each string is a secret
	learned                   // the same, and it is one in other lines, too
)

// secretSuffixes end the names of members with secrets.
var secretSuffixes = []string{"apikey", "accesskey", "secretkey", "privatekey", "token", "password", "passphrase", "secret"}

// named returns how the value of a member is treated.
func named(key string) visibility {
	key = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(key, "-", ""), "_", ""))
	switch {
	case key == "env" || key == "environment" || key == "headers":
		return learned
	case slices.ContainsFunc(secretSuffixes, func(suffix string) bool { return strings.HasSuffix(key, suffix) }),
		slices.Contains([]string{"authorization", "proxyauthorization", "cookie", "setcookie", "passwd", "credentials", "bearer"}, key):
		return learned
	}
	return plain
}

// ordinary are variables whose values are no secrets, and occur in other texts.
var ordinary = []string{"path", "home", "lang", "shell", "user", "logname", "pwd", "tmpdir", "term", "nodeenv", "lcall"}

// jsonWriter copies a JSON value with its secrets replaced.
type jsonWriter struct {
	r    *Redactor
	d    *json.Decoder
	out  bytes.Buffer
	last string // the last string value, as it was
}

func (w *jsonWriter) value(v visibility, element bool) error {
	token, err := w.d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			err = w.object(v, element)
		} else {
			err = w.array(v)
		}
		return err
	case string:
		w.last = t
		if v == learned {
			w.r.learn(t)
		}
		if v != plain && t != "" {
			t = Mark
		}
		w.text(w.r.Text(t))
	case json.Number:
		w.out.WriteString(t.String())
	case bool:
		w.out.WriteString(map[bool]string{true: "true", false: "false"}[t])
	default:
		w.out.WriteString("null")
	}
	return nil
}

// object copies an object. An element of a list of secrets has a name, which is none, and a value: {"name": …, "value": …}.
func (w *jsonWriter) object(v visibility, element bool) error {
	w.out.WriteByte('{')
	name := ""
	for n := 0; w.d.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		token, err := w.d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		w.text(w.r.Text(key))
		w.out.WriteByte(':')
		inner := max(v, named(key))
		switch {
		case v != plain && element && key == "name":
			inner = plain
		case v != plain && (isOrdinary(key) || element && isOrdinary(name)):
			inner = hidden
		}
		if err := w.value(inner, false); err != nil {
			return err
		}
		if key == "name" {
			name = w.last
		}
	}
	_, err := w.d.Token()
	w.out.WriteByte('}')
	return err
}

func isOrdinary(name string) bool {
	return slices.Contains(ordinary, strings.ToLower(strings.ReplaceAll(name, "_", "")))
}

func (w *jsonWriter) array(v visibility) error {
	w.out.WriteByte('[')
	for n := 0; w.d.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(v, true); err != nil {
			return err
		}
	}
	_, err := w.d.Token()
	w.out.WriteByte(']')
	return err
}

func (w *jsonWriter) text(s string) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		w.out.WriteString(`"` + s + `"`) // as the encoder would write it, which takes longer
		return
	}
	e := json.NewEncoder(&w.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a Buffer takes all
	w.out.Truncate(w.out.Len() - 1)
}
