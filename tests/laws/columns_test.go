package laws

import (
	"go/scanner"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGoLinesEndWhereAReaderStillSeesThem(t *testing.T) {
	const (
		columnsMax = 120
		tabColumns = 4
		// A line with a longer string may be longer: to break a string makes it harder to find.
		stringColumnsMax = 60
	)
	for _, file := range sources(t, ".go") {
		text := read(t, file)
		if strings.HasSuffix(file, "_bpfel.go") {
			continue
		}
		excepted := linesWithLongStrings(text, stringColumnsMax)
		for number, line := range strings.Split(string(text), "\n") {
			columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
			if columns > columnsMax && !excepted[number+1] && !strings.Contains(line, "://") {
				t.Errorf("%s:%d has %d columns, more than %d: run make fix", file, number+1, columns, columnsMax)
			}
		}
	}
}

// linesWithLongStrings are the lines of strings that are longer than this number of bytes, and of strings in back
// quotes.
func linesWithLongStrings(text []byte, bytesMax int) map[int]bool {
	files, found := token.NewFileSet(), map[int]bool{}
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		position, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return found
		case kind == token.STRING && (literal[0] == '`' || len(literal) > bytesMax):
			for line := range 1 + strings.Count(literal, "\n") {
				found[file.Line(position)+line] = true
			}
		}
	}
}
