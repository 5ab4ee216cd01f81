package kinds

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// scriptToken is a word, number, text or operator of a script.
type scriptToken struct {
	kind tokenKind
	text string // as it is written
	// line, endLine: where it begins and ends.
	line, endLine int
}

type tokenKind int

const (
	operatorToken tokenKind = iota
	nameToken
	keywordToken
	numberToken
	stringToken
)

var scriptKeywords = strings.Fields(
	"and break do else elseif end false for function goto if in local nil not or repeat " +
		"return then true until while")

// scriptNumber is a number that engines and Lua 5.1 read alike.
var scriptNumber = regexp.MustCompile(`^(0[xX][0-9a-fA-F]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)

// scriptTokens reads a script that is Lua 5.1 into tokens, as engines do. The refusal names one that they do not have.
func scriptTokens(script string) (tokens []scriptToken, refusal string) {
	line := 1
	for rest := script; rest != ""; {
		token, length := scriptToken{line: line}, 1
		switch c := rest[0]; {
		case strings.ContainsRune(" \t\r\n\v\f", rune(c)):
		case strings.HasPrefix(rest, "--"):
			length = commentLength(rest)
			if strings.Contains(rest[:length], "\x00") {
				return nil, inLine(line, "a comment has a character NUL")
			}
		case c == '"' || c == '\'':
			if length = quotedLength(rest); length == 0 {
				return nil, inLine(line, "a text does not end")
			}
			token.kind = stringToken
			if wrong := wrongEscape(rest[1 : length-1]); wrong != "" {
				return nil, inLine(line, `engines have no \%s in texts`, wrong)
			}
		case c == '[' && longLength(rest) > 0:
			token.kind, length = stringToken, longLength(rest)
		case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
			token.kind, length = numberToken, numberLength(rest)
			if number := rest[:length]; !scriptNumber.MatchString(number) {
				return nil, inLine(line, "%q is no number", number)
			}
		case isOfName(c):
			for length < len(rest) && isOfName(rest[length]) {
				length++
			}
			token.kind = nameToken
			if slices.Contains(scriptKeywords, rest[:length]) {
				token.kind = keywordToken
			}
		default:
			for _, operator := range []string{"...", "..", "==", "~=", "<=", ">=", "::"} {
				if strings.HasPrefix(rest, operator) {
					length = len(operator)
					break
				}
			}
		}
		token.text, rest = rest[:length], rest[length:]
		line += strings.Count(token.text, "\n")
		token.endLine = line
		if isSpace := strings.TrimSpace(token.text) == ""; !isSpace && !strings.HasPrefix(token.text, "--") {
			if strings.Contains(token.text, "\x00") {
				return nil, inLine(token.line, "a text has a character NUL")
			}
			tokens = append(tokens, token)
		}
	}
	return tokens, ""
}

func inLine(line int, format string, args ...any) string {
	return fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isOfName(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func commentLength(text string) int {
	if long := longLength(text[2:]); long > 0 {
		return 2 + long
	}
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		return end
	}
	return len(text)
}

// longLength is the length of a text in long brackets; 0 if none begins here.
func longLength(text string) int {
	if !strings.HasPrefix(text, "[") {
		return 0
	}
	level := 0
	for level+1 < len(text) && text[level+1] == '=' {
		level++
	}
	if level+1 >= len(text) || text[level+1] != '[' {
		return 0
	}
	end := "]" + strings.Repeat("=", level) + "]"
	at := strings.Index(text[level+2:], end)
	if at < 0 {
		return len(text)
	}
	return level + 2 + at + len(end)
}

// quotedLength is the length of a text with its quotes; 0 if it does not end in its line.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return i + 1
		case '\r', '\n':
			return 0
		case '\\':
			i++
			if strings.HasPrefix(text[i:], "\r\n") {
				i++
			}
		}
	}
	return 0
}

func numberLength(text string) int {
	end := 1
	for end < len(text) && (isDigit(text[end]) || text[end] == '.' || text[end] == '_') {
		end++
	}
	if end < len(text) && (text[end] == 'e' || text[end] == 'E') {
		end++
		if end < len(text) && (text[end] == '+' || text[end] == '-') {
			end++
		}
	}
	for end < len(text) && isOfName(text[end]) {
		end++
	}
	return end
}

var (
	decimalEscape = regexp.MustCompile(`^[0-9]{1,3}`)
	hexEscape     = regexp.MustCompile(`^x[0-9a-fA-F]{2}`)
	unicodeEscape = regexp.MustCompile(`^u\{0*([0-9a-fA-F]{1,5}|10[0-9a-fA-F]{4})\}`)
)

// wrongEscape is what stands behind a backslash that engines refuse.
func wrongEscape(text string) string {
	for {
		_, after, found := strings.Cut(text, `\`)
		if !found || after == "" {
			return ""
		}
		decimal := decimalEscape.FindString(after)
		switch {
		case len(decimal) == 3 && decimal > "255":
			return decimal
		case after[0] == 'x' && !hexEscape.MatchString(after), after[0] == 'u' && !unicodeEscape.MatchString(after):
			return after[:1]
		}
		text = after[1:]
	}
}
