package main

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// span is text in one style: class names of the picture, "" for none.
type span struct{ text, class string }

// classes are the styles that commands use, by their numbers in ECMA-48, "Select Graphic
// Rendition". Others are shown as plain text.
var classes = map[string]string{
	"1": "bold", "2": "faint", "31": "red", "32": "green", "33": "yellow", "34": "blue", "35": "magenta", "36": "cyan",
}

var sequence = regexp.MustCompile("\x1b\\[([0-9;]*)([A-Za-z])")

// parse returns the lines of what was printed on a terminal of that width. A line that is
// too long goes on in the next one, at a space where there is one.
func parse(printed string, width int) (lines [][]span) {
	for line := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(printed, "\r", ""), "\n"), "\n") {
		lines = append(lines, wrap(spans(untabbed(line)), width)...)
	}
	return lines
}

// untabbed has spaces in place of tabs, four for each, so that code stays narrow.
func untabbed(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

// spans are the parts of a line. Two of one style that follow each other are one.
func spans(line string) (parts []span) {
	class := ""
	add := func(text string) {
		if last := len(parts) - 1; text != "" && last >= 0 && parts[last].class == class {
			parts[last].text += text
		} else if text != "" {
			parts = append(parts, span{text, class})
		}
	}
	for {
		at := sequence.FindStringSubmatchIndex(line)
		if at == nil {
			add(line)
			return parts
		}
		add(line[:at[0]])
		if line[at[4]:at[5]] == "m" {
			class = classOf(class, line[at[2]:at[3]])
		}
		line = line[at[1]:]
	}
}

// classOf is the style after a sequence of numbers. 0, or none, ends all.
func classOf(class, numbers string) string {
	for number := range strings.SplitSeq(numbers, ";") {
		switch name := classes[number]; {
		case number == "" || number == "0":
			class = ""
		case name != "":
			class = strings.TrimSpace(class + " " + name)
		}
	}
	return class
}

// margin is how far a continued line is set in: beyond where text begins behind a label.
const margin = 12

// wrap breaks a line where it is longer than the terminal is wide.
func wrap(parts []span, width int) (lines [][]span) {
	var line []span
	used := 0
	for _, part := range parts {
		for used+utf8.RuneCountInString(part.text) > width {
			head, tail := breakAt(part.text, width-used)
			line = append(line, span{head, part.class})
			lines, line, used = append(lines, line), []span{{strings.Repeat(" ", margin), ""}}, margin
			part.text = tail
		}
		line = append(line, part)
		used += utf8.RuneCountInString(part.text)
	}
	return append(lines, line)
}

// breakAt breaks a text behind the last space before a column, or else there.
func breakAt(text string, column int) (head, tail string) {
	runes := []rune(text)
	for i := column; i > column/2; i-- {
		if runes[i-1] == ' ' {
			column = i
			break
		}
	}
	return string(runes[:column]), string(runes[column:])
}
