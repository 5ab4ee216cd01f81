// Program wrap breaks lines of Go files that are longer than 120 columns, where it finds a good place: after a comma,
// an operator or an opening bracket outside the innermost brackets, around the body of a function, and between the
// words of a comment. gofmt then sees to the indentation. What it cannot break it leaves; tests/laws says which lines
// that are. A tab is four columns.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	columnsMax = 120
	tabColumns = 4
	// restMin is how short the second part of a line may be, if there is another place.
	restMin = 20
	// passesMax bounds how often a file is gone over: each pass breaks a line once.
	passesMax = 20
)

func main() {
	failed := false
	for _, file := range os.Args[1:] {
		if err := wrapFile(file); err != nil {
			fmt.Fprintf(os.Stderr, "wrap: %s: %v\n", file, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func wrapFile(file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	wrapped, err := wrap(source)
	if err != nil || bytes.Equal(wrapped, source) {
		return err
	}
	return os.WriteFile(file, wrapped, 0o644)
}

// wrap goes over a file until nothing changes any more.
func wrap(source []byte) ([]byte, error) {
	for range passesMax {
		next, err := format.Source(breakLines(source))
		if err != nil || bytes.Equal(next, source) {
			return source, err
		}
		source = next
	}
	return source, nil
}

// breakLines breaks each line once that is too long, and fills each paragraph of a comment anew that has one.
func breakLines(source []byte) []byte {
	candidates := candidatesOf(source)
	var out bytes.Buffer
	lines := bytes.SplitAfter(source, []byte("\n"))
	for at, offset := 0, 0; at < len(lines); {
		paragraph := paragraphAt(lines[at:])
		count := max(1, len(paragraph))
		whole := bytes.Join(lines[at:at+count], nil)
		switch {
		case !anyTooLong(lines[at : at+count]):
			out.Write(whole)
		case len(paragraph) > 0:
			out.WriteString(fill(paragraph))
		default:
			out.Write(breakAt(whole, offset, candidates))
		}
		at, offset = at+count, offset+len(whole)
	}
	return out.Bytes()
}

// paragraphAt are the lines of the comment's paragraph that begins here; empty: none does. Lists and what is indented
// stay.
func paragraphAt(lines [][]byte) (paragraph []string) {
	for _, line := range lines {
		text := strings.TrimRight(string(line), "\n")
		words, is := strings.CutPrefix(strings.TrimLeft(text, "\t"), "// ")
		if !is || words == "" || strings.ContainsAny(words[:1], " \t-*#|") {
			break
		}
		if len(paragraph) > 0 && leading([]byte(text)) != leading([]byte(paragraph[0])) {
			break
		}
		paragraph = append(paragraph, text)
	}
	return paragraph
}

func anyTooLong(lines [][]byte) bool {
	for _, line := range lines {
		if columns(strings.TrimRight(string(line), "\n")) > columnsMax {
			return true
		}
	}
	return false
}

// fill puts as many words of a paragraph on each line as fit.
func fill(paragraph []string) string {
	start := leading([]byte(paragraph[0])) + "//"
	var out strings.Builder
	line := start
	for _, text := range paragraph {
		for _, word := range strings.Fields(strings.TrimPrefix(strings.TrimLeft(text, "\t"), "//")) {
			if line != start && columns(line)+1+columns(word) > columnsMax {
				out.WriteString(line + "\n")
				line = start
			}
			line += " " + word
		}
	}
	return out.String() + line + "\n"
}

// candidate is a place where a line may be broken.
type candidate struct {
	depth   int // of brackets
	comment bool
	bodyEnd int // of a function's body that begins here, and ends on the same line; 0: none does
}

// candidatesOf are those of a file, by their offset: the first byte of the next line.
func candidatesOf(source []byte) map[int]candidate {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	found, depth := bodiesOf(source), 0
	for {
		position, kind, literal := s.Scan()
		end := file.Offset(position) + max(len(literal), len(kind.String()))
		switch kind {
		case token.EOF:
			return found
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.COMMA, token.LAND, token.LOR, token.ADD:
			found[end] = candidate{depth: depth}
		case token.COMMENT:
			found[file.Offset(position)] = candidate{comment: true}
		}
		if kind == token.LPAREN {
			found[end] = candidate{depth: depth}
		}
	}
}

// bodiesOf are the bodies of functions that stand on one line.
func bodiesOf(source []byte) map[int]candidate {
	files, found := token.NewFileSet(), map[int]candidate{}
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return found // the formatter says what is wrong
	}
	ast.Inspect(file, func(node ast.Node) bool {
		var body *ast.BlockStmt
		switch function := node.(type) {
		case *ast.FuncLit:
			body = function.Body
		case *ast.FuncDecl:
			body = function.Body
		}
		if body == nil || len(body.List) == 0 {
			return true
		}
		if begin, end := files.Position(body.Lbrace), files.Position(body.Rbrace); begin.Line == end.Line {
			found[begin.Offset+1] = candidate{bodyEnd: end.Offset}
		}
		return true
	})
	return found
}

// breakAt breaks a line at its best candidate: outside the innermost brackets, and there as late as possible.
func breakAt(line []byte, offset int, candidates map[int]candidate) []byte {
	best, bestDepth := -1, 0
	for at := len(leading(line)) + 1; at < len(line); at++ {
		c, is := candidates[offset+at]
		if !is {
			continue
		}
		switch {
		case c.comment:
			return commentAbove(line, at)
		case c.bodyEnd > 0 && columns(string(line[:at])) <= columnsMax:
			end := c.bodyEnd - offset
			return bytes.Join([][]byte{line[:at], line[at:end], line[end:]}, []byte("\n"))
		}
		if columns(string(line[:at])) > columnsMax || len(bytes.TrimSpace(line[at:])) == 0 {
			continue
		}
		restIsShort := columns(string(line[at:])) < restMin
		if best >= 0 && c.depth >= bestDepth && restIsShort && columns(string(line[:best])) >= columnsMax/2 {
			continue
		}
		if best < 0 || c.depth < bestDepth || c.depth == bestDepth || columns(string(line[:best])) < columnsMax/2 {
			best, bestDepth = at, c.depth
		}
	}
	if best < 0 {
		return line
	}
	rest := bytes.TrimLeft(line[best:], " ")
	return bytes.Join([][]byte{line[:best], []byte("\n" + leading(line) + "\t"), rest}, nil)
}

// commentAbove puts the comment at the end of a line on a line of its own before it.
func commentAbove(line []byte, at int) []byte {
	indent := leading(line)
	code := strings.TrimRight(string(line[:at]), " \t")
	return []byte(indent + strings.TrimSpace(string(line[at:])) + "\n" + code + "\n")
}

func leading(line []byte) string {
	return string(line[:len(line)-len(bytes.TrimLeft(line, "\t "))])
}

func columns(text string) int {
	return utf8.RuneCountInString(text) + (tabColumns-1)*strings.Count(text, "\t")
}
