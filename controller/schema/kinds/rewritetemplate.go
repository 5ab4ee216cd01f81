package kinds

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TemplatePart is a part of a text that is written: a text, or what a variable or a group stands for.
type TemplatePart struct {
	Text string
	Name string // without the dollar; empty: the part is a text
}

// Group returns the number of the group that a part stands for.
func (p TemplatePart) Group() (number int, is bool) {
	number, err := strconv.Atoi(p.Name)
	return number, err == nil && number >= 0
}

// VariableOfServiceName is the variable that stands for the name of the virtual service.
const VariableOfServiceName = "vs_name"

var templateName = regexp.MustCompile(`\$(?:\$|[0-9]+|[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z0-9_]+\})`)

// ofField matches what variables for header fields have behind http_.
var ofField = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// Template reads a text in which $name and ${name} stand for variables, $1 and ${1} for groups, and $$ for a dollar.
func Template(text string) (parts []TemplatePart) {
	pending := ""
	flush := func() {
		if pending != "" {
			parts = append(parts, TemplatePart{Text: pending})
		}
		pending = ""
	}
	at := 0
	for _, found := range templateName.FindAllStringIndex(text, -1) {
		pending += text[at:found[0]]
		at = found[1]
		name := strings.Trim(text[found[0]+1:at], "{}")
		if name == "$" {
			pending += name
			continue
		}
		flush()
		parts = append(parts, TemplatePart{Name: name})
	}
	pending += text[at:]
	flush()
	return parts
}

// VariableName returns the name of a variable, which may be written with a dollar.
func VariableName(text string) string {
	return strings.Trim(strings.TrimPrefix(text, "$"), "{}")
}

// Avi's names of variables that HTTP policies know by longer ones.
var policyVariables = map[string]string{
	"client_ip": "HTTP_POLICY_VAR_CLIENT_IP",
	"vs_ip":     "HTTP_POLICY_VAR_VS_IP",
	"vs_port":   "HTTP_POLICY_VAR_VS_PORT",
	"req_id":    "HTTP_POLICY_VAR_REQUEST_ID",
}

// PolicyVariable returns the name under which HTTP policies know a variable.
func PolicyVariable(name string) string {
	if known := policyVariables[name]; known != "" {
		return known
	}
	return name
}

// FieldOfVariable returns the header field of the request that a variable stands for; empty: it stands for something
// else.
func FieldOfVariable(name string) string {
	field, is := strings.CutPrefix(name, "http_")
	if !is || !ofField.MatchString(field) {
		return ""
	}
	return strings.ReplaceAll(field, "_", "-")
}

// SearchedExpression reads an expression that engines search for in content, and returns how many groups it has.
func SearchedExpression(text string) (groups int, _ error) {
	read, err := parsed(text)
	if err != nil {
		return 0, err
	}
	switch least := leastBytes(read); {
	case least == 0:
		return 0, errors.New("the expression matches an empty text, too: have it match one byte at least")
	case least > matchBytesMost:
		return 0, fmt.Errorf("the expression matches %d bytes or more: engines find matches of at most %d", least,
			matchBytesMost)
	}
	return read.MaxCap(), nil
}

// leastBytes returns how long the shortest match of an expression is.
func leastBytes(read *syntax.Regexp) (bytes int) {
	switch read.Op {
	case syntax.OpLiteral:
		for _, letter := range read.Rune {
			bytes += max(utf8.RuneLen(letter), 1)
		}
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return leastBytes(read.Sub[0])
	case syntax.OpRepeat:
		return read.Min * leastBytes(read.Sub[0])
	case syntax.OpConcat:
		for _, part := range read.Sub {
			bytes += leastBytes(part)
		}
	case syntax.OpAlternate:
		bytes = leastBytes(read.Sub[0])
		for _, choice := range read.Sub[1:] {
			bytes = min(bytes, leastBytes(choice))
		}
	default: // what may be empty, or is
	}
	return bytes
}
