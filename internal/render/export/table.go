package export

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tableElement is a table or a part of one.
type tableElement struct {
	ast.BaseBlock
	name string
}

var kindElement = ast.NewNodeKind("Element")

// Kind implements ast.Node.
func (*tableElement) Kind() ast.NodeKind { return kindElement }

// Dump implements ast.Node, for debugging goldmark.
func (e *tableElement) Dump(source []byte, level int) { ast.DumpHelper(e, source, level, nil, nil) }

// appendElement appends a new element to parent.
func appendElement(parent ast.Node, name string) *tableElement {
	e := &tableElement{name: name}
	parent.AppendChild(parent, e)
	return e
}

// tables is a paragraph transformer that converts the end of a paragraph into a table, from a header line followed by a line of dashes.
// Rows keep their number of cells: none is dropped or added.
type tables struct{}

// Transform implements parser.ParagraphTransformer.
func (tables) Transform(paragraph *ast.Paragraph, reader text.Reader, _ parser.Context) {
	source, lines := reader.Source(), paragraph.Lines()
	head, end := 0, lines.Len()
	for head < end-1 && !isDelimiterRow(cells(lines.At(head+1), source), cells(lines.At(head), source), source) {
		head++
	}
	if head >= end-1 {
		return
	}
	table := &tableElement{name: "table"}
	row(appendElement(table, "thead"), "th", cells(lines.At(head), source))
	if head+2 < end {
		body := appendElement(table, "tbody")
		for _, line := range lines.Sliced(head+2, end) {
			row(body, "td", cells(line, source))
		}
	}
	parent := paragraph.Parent()
	parent.InsertAfter(parent, paragraph, table)
	if lines.SetSliced(0, head); head == 0 {
		parent.RemoveChild(parent, paragraph)
	}
}

func row(parent *tableElement, name string, cells []text.Segment) {
	r := appendElement(parent, "tr")
	for _, cell := range cells {
		appendElement(r, name).Lines().Append(cell)
	}
}

// isDelimiterRow reports whether cells are dashes, one for each header cell.
func isDelimiterRow(cells, head []text.Segment, source []byte) bool {
	for _, cell := range cells {
		word := bytes.TrimSuffix(bytes.TrimPrefix(cell.Value(source), []byte(":")), []byte(":"))
		if len(word) == 0 || len(bytes.Trim(word, "-")) > 0 {
			return false
		}
	}
	return len(cells) > 0 && len(cells) == len(head)
}

// cells splits a line of a table.
func cells(line text.Segment, source []byte) (list []text.Segment) {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	add := func(begin, end int) {
		cell := text.NewSegment(begin, end)
		cell = cell.TrimLeftSpace(source)
		list = append(list, cell.TrimRightSpace(source))
	}
	begin := line.Start
	for at := begin; at < line.Stop; at++ {
		switch {
		case source[at] == '\\':
			at++
		case source[at] == '|':
			if at > line.Start {
				add(begin, at)
			}
			begin = at + 1
		}
	}
	if begin < line.Stop {
		add(begin, line.Stop)
	}
	return list
}
