package query

import (
	"fmt"
	"regexp"
	"strings"
)

// Parse reads one condition: op(field,value), or any(…) or all(…) of conditions. The value is all that follows the
// comma. If it is between double quotes, these are no part of it; inside them, \" is a quote and \\ a backslash.
func Parse(text string) (Expr, error) { return parse(text, 0) }

func parse(text string, depth int) (Expr, error) {
	op, rest, found := strings.Cut(text, "(")
	inner, ends := strings.CutSuffix(rest, ")")
	if !found || !ends {
		return bad(text, "write it as op(field,value), for example eq(event_id,VS_UP)")
	}
	switch op = strings.TrimSpace(op); op {
	case "any", "all":
		parts, err := parseEach(text, inner, depth+1)
		if err != nil || op == "all" {
			return Expr{And: parts}, err
		}
		return Expr{Or: parts}, err
	}
	field, value, found := strings.Cut(inner, ",")
	if !found {
		return bad(text, "there is no comma between field and value")
	}
	if quoted, is := strings.CutPrefix(value, `"`); is {
		if quoted, is = strings.CutSuffix(quoted, `"`); !is {
			return bad(text, "the quote at the beginning of the value has none at its end")
		}
		value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted)
	}
	return Compare(strings.TrimSpace(field), Op(op), value), nil
}

func bad(text, problem string) (Expr, error) {
	return Expr{}, &Error{"filter", fmt.Sprintf("%q: %s", text, problem)}
}

// parseEach reads the conditions in any(…) or all(…). There, a value with a comma or a parenthesis needs quotes.
func parseEach(text, inner string, depth int) (parts []Expr, err error) {
	if depth > maxDepth {
		_, err = bad(text, fmt.Sprintf("it has more than %d levels", maxDepth))
		return nil, err
	}
	begun, open, quoted := 0, 0, false
	for at := 0; at <= len(inner); at++ {
		switch {
		case at == len(inner) || inner[at] == ',' && open == 0 && !quoted:
			one, err := parse(strings.TrimSpace(inner[begun:at]), depth)
			if err != nil {
				return nil, err
			}
			parts, begun = append(parts, one), at+1
		case inner[at] == '\\' && quoted:
			at++
		case inner[at] == '"':
			quoted = !quoted
		case inner[at] == '(' && !quoted:
			open++
		case inner[at] == ')' && !quoted:
			open--
		}
	}
	return parts, nil
}

// between is what stands between two conditions in the parameters of a URL.
var between = regexp.MustCompile(`\)\s*&\s*(filter=)?[a-z]+\(`)

// ParseAll reads conditions that must all hold, as the parameters of a URL have them:
// filter=op(field,value)&filter=op(field,value). The names of the parameters may be missing.
func ParseAll(text string) (Expr, error) {
	var all []Expr
	for text = strings.TrimSpace(text); text != ""; {
		part, rest := text, ""
		if found := between.FindStringIndex(text); found != nil {
			part = text[:found[0]+1]
			rest = strings.TrimLeft(text[found[0]+1:], "& \t")
		}
		one, err := Parse(strings.TrimPrefix(part, "filter="))
		if err != nil {
			return Expr{}, err
		}
		all, text = append(all, one), rest
	}
	if all == nil {
		return Expr{}, &Error{"filter", "it has no condition: write op(field,value), for example eq(response_code,503)"}
	}
	return *All(all...), nil
}

// OfRequests makes a condition of one on a field that Avi's logs have and records have not.
func OfRequests(e Expr) Expr {
	for i, one := range e.And {
		e.And[i] = OfRequests(one)
	}
	for i, one := range e.Or {
		e.Or[i] = OfRequests(one)
	}
	if e.Field != "adf" {
		return e
	}
	op := e.Op
	if strings.EqualFold(e.Value, "false") {
		op = map[Op]Op{Eq: Ne, Ne: Eq}[op]
	}
	return Compare("class", op, Significant)
}
