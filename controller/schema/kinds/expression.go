package kinds

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/weir-lb/weir/controller/schema"
)

// Expression reads a regular expression that engines can run in linear time. Engines use another library than this
// program, and the two agree on what an expression means except for the few forms that Expression refuses.
func Expression(text string) (*regexp.Regexp, error) {
	if _, err := parsed(text); err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// parsed reads what Expression compiles.
func parsed(text string) (*syntax.Regexp, error) {
	if err := refusedForm(text); err != nil {
		return nil, err
	}
	read, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		_, why, _ := strings.Cut(err.Error(), "error parsing regexp: ")
		return nil, fmt.Errorf("%s is no regular expression: %s", schema.Show(text), why)
	}
	return read, nil
}

// expressionsCostMost bounds what the expressions of one comparison may cost together. An engine takes at most 1 MiB
// for them: one that needs more would make it refuse its whole Plan.
const expressionsCostMost = 1 << 19

// CheckExpressions returns the first text that is no expression for engines, by its place, and why. Texts that cost too
// much together are the fault of the last one.
func CheckExpressions(texts []string) (at int, _ error) { return new(Expressions).Check(texts) }

// costOf estimates what an expression takes in the memory of an engine, in bytes.
func costOf(parsed *syntax.Regexp) (bytes int) {
	const ofInstruction, ofRange = 32, 16
	if least := ofInstruction * leastInstructions(parsed); least > expressionsCostMost {
		return least // to write them all out would take long
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	for _, instruction := range program.Inst {
		bytes += ofInstruction + ofRange*len(instruction.Rune)
		if len(instruction.Rune) == 1 { // engines compare the bytes of a letter one by one
			bytes += ofInstruction * (max(utf8.RuneLen(instruction.Rune[0]), 1) - 1)
		}
	}
	return bytes
}

// leastInstructions returns how many instructions an expression has at least, once its repetitions are written out.
func leastInstructions(parsed *syntax.Regexp) (count int) {
	switch parsed.Op {
	case syntax.OpLiteral:
		return len(parsed.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	}
	for _, part := range parsed.Sub {
		count += leastInstructions(part)
	}
	if parsed.Op == syntax.OpRepeat {
		count *= max(parsed.Min, parsed.Max)
	}
	return count
}

var (
	lookAround = regexp.MustCompile(`^\(\?<?[=!]`)
	countedRun = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)
	namedClass = regexp.MustCompile(`^\[:\^?[a-z]+:\]`)
)

// nestingMost is how deep parentheses may nest. The library of engines reads at most 250 levels, and a pair of
// parentheses has up to four: a group, a repetition, a choice and a sequence.
const nestingMost = 50

// refusedForm finds a form of expressions that needs more than linear time, or that the libraries read differently.
func refusedForm(text string) error {
	refuse := func(form, why string) error { return fmt.Errorf("%s has %s, which %s", schema.Show(text), form, why) }
	inClass, nesting := false, 0
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			switch next := rest[1]; {
			case next >= '0' && next <= '9' || next == 'k' || next == 'g':
				return refuse(rest[:2], "refers back to what was found before: engines match in linear time only")
			case strings.IndexByte("QECpP<>", next) >= 0:
				return refuse(rest[:2], "engines do not know")
			}
			i++
		case inClass && rest[0] == ']':
			inClass = false
		case inClass && namedClass.MatchString(rest):
			i += strings.IndexByte(rest, ']')
		case inClass && rest[0] == '[':
			return refuse("a [ between [ and ]", `is read in several ways: write \[`)
		case inClass && (strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "--") ||
			strings.HasPrefix(rest, "~~")):
			return refuse(rest[:2]+" between [ and ]", `is read in several ways: write \`+rest[:1]+" for the second")
		case inClass && rest[0] >= utf8.RuneSelf:
			return refuse("a letter beyond ASCII between [ and ]", "engines do not know: they compare bytes")
		case inClass:
		case rest[0] == '[':
			inClass = true
			i += len(leading(rest[1:], "^")) // a ] that stands first is one of the characters
			if strings.HasPrefix(text[i+1:], "]") {
				i++
			}
		case lookAround.MatchString(rest):
			return refuse(lookAround.FindString(rest), "looks around: engines match in linear time only")
		case rest[0] == '(':
			if nesting++; nesting > nestingMost {
				return refuse(fmt.Sprintf("more than %d parentheses in each other", nestingMost), "engines do not read")
			}
		case rest[0] == ')':
			nesting--
		case rest[0] == '{' && !countedRun.MatchString(rest):
			return refuse("a { without a count", `is read in several ways: write \{`)
		}
	}
	return nil
}

// leading returns the text that something begins with; empty: it does not.
func leading(of, text string) string {
	if strings.HasPrefix(of, text) {
		return text
	}
	return ""
}
