package flight

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
)

const (
	// maxOutline bounds an outline, in bytes.
	maxOutline = 2 << 10
	// maxScanned bounds what is read of a line for its outline: some take megabytes.
	maxScanned = 32 << 10
)

// plain are the members whose values appear in an outline if they look like identifiers: the kind of a message, what it belongs to, and its
// result. All other strings may be text of a user, a file name, or a secret.
var plain = map[string]bool{
	"jsonrpc": true, "id": true, "method": true, "type": true, "factoryApiVersion": true, "factoryProtocolVersion": true,
	"sessionId": true, "newSessionId": true, "childSessionId": true, "requestId": true, "messageId": true, "toolCallId": true, "toolUseId": true,
	"sessionUpdate": true, "stopReason": true, "status": true, "state": true, "newState": true, "reason": true, "kind": true, "role": true,
	"outcome": true, "optionId": true, "selectedOption": true, "toolName": true, "modeId": true, "configId": true, "confirmationType": true,
	"protocolVersion": true, "interactionMode": true, "autonomyMode": true, "autonomyLevel": true, "code": true,
}

// foreign are the members whose values have members of any name: those of a server, a tool or a user.
var foreign = map[string]bool{
	"headers": true, "env": true, "environment": true, "input": true, "rawInput": true, "rawOutput": true, "arguments": true,
	"schema": true, "requestedSchema": true, "structuredOutput": true,
}

// outline returns a line of JSON without its texts: each string that is not plain is replaced by its length in bytes and a hash. A line
// that is not JSON is replaced as a whole.
func outline(seed maphash.Seed, line []byte) string {
	line = bytes.TrimSpace(line)
	var b strings.Builder
	member := "" // whose value comes next
	inside := 0  // how many objects and lists are open since a foreign one began
	for i := 0; i < len(line); {
		if b.Len() > maxOutline || i > maxScanned {
			fmt.Fprintf(&b, "… %d B more", len(line)-i)
			break
		}
		switch c := line[i]; {
		case c == '"':
			end := stringEnd(line, i)
			if end < 0 {
				fmt.Fprintf(&b, "‹%d B that do not end›", len(line)-i)
				return b.String()
			}
			text := line[i+1 : end-1]
			if rest := bytes.TrimLeft(line[end:min(end+16, len(line))], " \t"); len(rest) > 0 && rest[0] == ':' {
				member = string(text[:min(len(text), 64)])
				b.WriteString(name(seed, text))
			} else {
				if inside > 0 {
					member = ""
				}
				b.WriteString(value(seed, member, text))
			}
			i = end
		case bytes.IndexByte([]byte("{}[]:, \t"), c) >= 0:
			switch {
			case (c == '{' || c == '[') && (inside > 0 || foreign[member]):
				inside++
			case (c == '}' || c == ']') && inside > 0:
				inside--
			}
			if c != ':' && c != ' ' && c != '\t' {
				member = ""
			}
			b.WriteByte(c)
			i++
		default:
			word := line[i : i+wordLen(line[i:])]
			if !isNumber(word) && !isKeyword(word) {
				fmt.Fprintf(&b, "‹%d B that are not JSON›", len(line)-i)
				return b.String()
			}
			b.Write(word)
			i += len(word)
		}
	}
	return b.String()
}

// stringEnd returns the index behind the string that begins at i, or -1.
func stringEnd(line []byte, i int) int {
	for i++; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// wordLen returns the length of a number, or of true, false or null.
func wordLen(line []byte) int {
	if n := bytes.IndexAny(line, "{}[]:,\" \t"); n > 0 {
		return n
	}
	return len(line)
}

func isNumber(word []byte) bool {
	_, err := strconv.ParseFloat(string(word[:min(len(word), 64)]), 64)
	return err == nil && word[len(word)-1] <= '9' && len(word) <= 64
}

func isKeyword(word []byte) bool {
	return string(word) == "true" || string(word) == "false" || string(word) == "null"
}

// name returns the name of a member: names of files and of environment variables are among them.
func name(seed maphash.Seed, text []byte) string {
	if isIdentifier(text, "_") && len(text) <= 32 {
		return string(text)
	}
	return hidden(seed, text)
}

func value(seed maphash.Seed, member string, text []byte) string {
	if plain[member] && isIdentifier(text, "_-./:$") && len(text) <= 80 {
		return `"` + string(text) + `"`
	}
	return hidden(seed, text)
}

func isIdentifier(text []byte, also string) bool {
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(also, c) >= 0:
		default:
			return false
		}
	}
	return len(text) > 0
}

// hidden returns the replacement of a text: its length in bytes and its hash.
func hidden(seed maphash.Seed, text []byte) string {
	return fmt.Sprintf("‹%d:%06x›", len(text), maphash.Bytes(seed, text)&0xffffff)
}
