package render

import (
	"encoding/json"
	"strings"
)

// Parsers for the inputs and results of past calls, for representations outside an editor; Label, ParseTasks, Plan, ResultText,
// ParseCommandResult and ParsePlanResult belong to them. All forms are droid's (0.99 to 0.225).

// EditedLine is a line of an edit in its result.
type EditedLine struct {
	Type    string // "added", "removed" or "unchanged"
	Content string
	Old     int // line number before the edit, 1-based; 0 if it did not exist
	New     int
}

// EditedLines returns the changed lines with context from the result of an Edit, nil if it has none.
func EditedLines(content json.RawMessage) (file string, lines []EditedLine) {
	var result struct {
		FilePath  string `json:"file_path"`
		DiffLines []struct {
			Type       string
			Content    string
			LineNumber struct{ Old, New int }
		} `json:"diffLines"`
	}
	if json.Unmarshal([]byte(ResultText(content)), &result) != nil || result.FilePath == "" {
		return "", nil
	}
	for _, l := range result.DiffLines {
		lines = append(lines, EditedLine{l.Type, l.Content, l.LineNumber.Old, l.LineNumber.New})
	}
	return result.FilePath, lines
}

// NotChanged lists the files that a patch did not change, with droid's reasons; "" if there are none.
func NotChanged(cwd string, content json.RawMessage) string {
	var failed []fileChange
	for path, why := range failedFiles(cwd, content) {
		if why != "" {
			failed = append(failed, fileChange{path: path})
		}
	}
	if len(failed) == 0 {
		return ""
	}
	return notChanged(cwd, failed, content)
}

// AskUserQuestion is a question of an AskUser, possibly with its answer.
type AskUserQuestion struct {
	Question string
	Topic    string
	Options  []string
	Answer   string
}

// ParseQuestionnaire parses questions with their options from the input of an AskUser, or with their answers from its result.
func ParseQuestionnaire(text string) (list []AskUserQuestion) {
	var answer strings.Builder // of the last question
	answering := false
	endAnswer := func() {
		if answering {
			list[len(list)-1].Answer = forUsers(strings.TrimSpace(answer.String()))
			answer.Reset()
		}
		answering = false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		word := strings.TrimSpace(line)
		if m := questionPattern().FindStringSubmatch(line); m != nil {
			endAnswer()
			list = append(list, AskUserQuestion{Question: m[1]})
			continue
		}
		if len(list) == 0 {
			continue
		}
		last := &list[len(list)-1]
		if topic, is := strings.CutPrefix(word, "[topic] "); is && !answering {
			last.Topic = topic
			continue
		}
		switch option, isOption := strings.CutPrefix(word, "[option] "); {
		case isOption:
			last.Options = append(last.Options, option)
		case strings.HasPrefix(word, "[answer] "):
			answer.Reset()
			answer.WriteString(strings.TrimPrefix(word, "[answer] "))
			answering = true
		case answering:
			answer.WriteString("\n" + line)
		}
	}
	endAnswer()
	return list
}
