package metrics

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/series"
)

// The parser of Prometheus recurses once for each level of an expression, and checks whole expressions again at some
// levels. So a long or deep text could overflow the stack, which ends the process, or keep a core busy for minutes.
const (
	textBytesMax = 16 << 10
	nestingMax   = 64
	operatorsMax = 200
	selectorsMax = 100 // in one request
)

// boundText refuses texts in PromQL that are too costly to parse, before the parser sees them. The texts of one
// request share the limits.
func boundText(parameter string, texts ...string) error {
	refuse := func(format string, args ...any) error {
		return &series.Refusal{Parameter: parameter, Problem: fmt.Sprintf(format, args...)}
	}
	if len(texts) > selectorsMax {
		return refuse("there are %d; give at most %d", len(texts), selectorsMax)
	}
	bytes, operators := 0, 0
	for _, text := range texts {
		if bytes += len(text); bytes > textBytesMax {
			return refuse("is longer than %d KiB: make it shorter", textBytesMax>>10)
		}
		deepest, more := shape(text)
		if deepest > nestingMax {
			return refuse("has brackets more than %d deep: make it simpler", nestingMax)
		}
		if operators += more; operators > operatorsMax {
			return refuse("has more than %d operators: make it simpler", operatorsMax)
		}
	}
	return nil
}

// wordOperators are the operators that are words.
var wordOperators = map[string]bool{"and": true, "or": true, "unless": true, "atan2": true}

// shape counts how deep the brackets of a text are nested, and its operators, those of label matchers included. It
// skips string literals and comments as the lexer of Prometheus does. A range or subquery counts as an operator: these
// can follow each other, and each makes the expression one level deeper.
func shape(text string) (deepest, operators int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch one := text[i]; {
		case one == '"' || one == '\'' || one == '`':
			i = literalEnd(text, i)
		case one == '#':
			if length := strings.IndexAny(text[i:], "\r\n"); length >= 0 {
				i += length
			} else {
				i = len(text)
			}
		case one == '(' || one == '[' || one == '{':
			if one == '[' {
				operators++
			}
			depth++
			deepest = max(deepest, depth)
		case one == ')' || one == ']' || one == '}':
			depth--
		case strings.IndexByte("+-*/%^", one) >= 0:
			operators++
		case compares(one):
			operators++
			for i+1 < len(text) && compares(text[i+1]) {
				i++
			}
		case inWord(one):
			begin := i
			for i+1 < len(text) && inWord(text[i+1]) {
				i++
			}
			if wordOperators[strings.ToLower(text[begin:i+1])] {
				operators++
			}
		}
	}
	return deepest, operators
}

// literalEnd returns where the string literal ends that begins at an index.
func literalEnd(text string, begin int) int {
	quote := text[begin]
	for i := begin + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			return i
		}
	}
	return len(text)
}

func compares(one byte) bool { return strings.IndexByte("=!<>~", one) >= 0 }

func inWord(one byte) bool {
	return one == '_' || one == ':' || one >= '0' && one <= '9' || one|0x20 >= 'a' && one|0x20 <= 'z'
}
