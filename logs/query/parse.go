package query

import (
	"fmt"
	"regexp"
	"strings"

	logtext "github.com/weir-lb/weir/logs/text"
)

// Parse reads one condition: op(field,value), or any(…) or all(…) of conditions. The value is all that follows the
// comma. If it is between double quotes, these are no part of it; inside them, \" is a quote and \\ a backslash.
func Parse(text string) (Expr, error) {
	s := &scanner{text: strings.TrimSpace(text)}
	e, err := s.condition(0)
	if err == nil && s.rest() != "" {
		return s.bad(fmt.Sprintf("%q follows after its end", s.rest()))
	}
	return e, err
}

// ParseAll reads conditions that must all hold, as the parameters of a URL have them:
// filter=op(field,value)&filter=op(field,value). The names of the parameters may be missing.
func ParseAll(text string) (Expr, error) {
	var all []Expr
	s := &scanner{text: strings.TrimSpace(text), more: true}
	for more := s.text != ""; more; {
		s.skip("filter=")
		one, err := s.condition(0)
		if err != nil {
			return Expr{}, err
		}
		all = append(all, one)
		if more = s.skip("&"); !more && s.rest() != "" {
			return s.bad(fmt.Sprintf("%q follows after a condition", s.rest()))
		}
	}
	if all == nil {
		return Expr{}, &Error{"filter", "it has no condition: write op(field,value), for example eq(response_code,503)"}
	}
	return *All(all...), nil
}

// scanner reads conditions from a text, from the left to the right.
type scanner struct {
	text string
	at   int  // so much is read
	more bool // conditions can follow after one that is in no other
}

func (s *scanner) rest() string { return s.text[s.at:] }

// skip passes blanks and then a word, and tells whether the word was there.
func (s *scanner) skip(word string) bool {
	trimmed := strings.TrimLeft(s.rest(), " \t")
	s.at = len(s.text) - len(trimmed)
	if !strings.HasPrefix(trimmed, word) {
		return false
	}
	s.at += len(word)
	return true
}

func (s *scanner) bad(problem string) (Expr, error) {
	return Expr{}, &Error{"filter", fmt.Sprintf("%q: %s", s.text, problem)}
}

// opening is how a condition begins.
var opening = regexp.MustCompile(`^\s*([A-Za-z]+)\s*\(`)

// condition reads one condition, which is in so many others.
func (s *scanner) condition(depth int) (Expr, error) {
	found := opening.FindStringSubmatch(s.rest())
	if found == nil {
		return s.bad("write it as op(field,value), for example eq(event_id,VS_UP)")
	}
	s.at += len(found[0])
	op := found[1]
	if op == "any" || op == "all" {
		parts, err := s.each(depth + 1)
		if err != nil || op == "all" {
			return Expr{And: parts}, err
		}
		return Expr{Or: parts}, err
	}
	if Op(op) == Has || Op(op) == Among {
		return Expr{}, noOperator(Op(op))
	}
	ends := strings.IndexAny(s.rest(), ",()")
	if ends < 0 || s.rest()[ends] != ',' {
		return s.bad("there is no comma between field and value")
	}
	field := strings.TrimSpace(s.rest()[:ends])
	s.at += ends + 1
	read := s.plain
	if strings.HasPrefix(s.rest(), `"`) {
		read = s.quoted
	}
	value, problem := read(depth > 0)
	if problem != "" {
		return s.bad(problem)
	}
	// What an answer shows of a byte that is no UTF-8 is that byte.
	return Compare(field, Op(op), logtext.Decode(value)), nil
}

// each reads the conditions in any(…) or all(…), and the parenthesis after them.
func (s *scanner) each(depth int) (parts []Expr, err error) {
	if depth > maxDepth {
		_, err = s.bad(fmt.Sprintf("it has more than %d levels", maxDepth))
		return nil, err
	}
	for {
		one, err := s.condition(depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, one)
		switch {
		case s.skip(","):
		case s.skip(")"):
			return parts, nil
		case s.rest() == "":
			_, err = s.bad("a parenthesis is not closed")
			return nil, err
		default:
			_, err = s.bad(fmt.Sprintf("%q follows after a condition: separate conditions by commas", s.rest()))
			return nil, err
		}
	}
}

// quoted reads a value between quotes, and the parenthesis after it.
func (s *scanner) quoted(bool) (value, problem string) {
	for end := s.at + 1; end < len(s.text); end++ {
		switch s.text[end] {
		case '\\':
			end++
		case '"':
			value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s.text[s.at+1 : end])
			if s.at = end + 1; !s.skip(")") {
				return "", `after the quote at the end of the value comes no parenthesis: write a quote in it as \"`
			}
			return value, ""
		}
	}
	return "", "the quote at the beginning of the value has none at its end"
}

// between is what stands between two conditions in the parameters of a URL.
var between = regexp.MustCompile(`\)\s*&\s*(filter=)?[a-z]+\(`)

// plain reads a value without quotes, and the parenthesis after it. Inside of another condition, the value has no
// parenthesis. Else it goes on to the last one, or to the one before the next condition.
func (s *scanner) plain(inside bool) (value, problem string) {
	end := strings.LastIndexByte(s.rest(), ')')
	if inside {
		end = strings.IndexAny(s.rest(), "()")
	} else if next := between.FindStringIndex(s.rest()); s.more && next != nil {
		end = next[0]
	}
	if end < 0 {
		return "", "a parenthesis is not closed"
	}
	value = s.rest()[:end]
	if s.at += end + 1; s.text[s.at-1] == '(' {
		return "", "in any(…) and all(…), a value with a parenthesis needs quotes"
	}
	return value, ""
}

// OfRequests makes conditions on what records have of those that clients write: records have a class and no adf, and a
// condition on pool is about the name of the pool as well as about its uuid.
func OfRequests(e Expr) Expr {
	for i, one := range e.And {
		e.And[i] = OfRequests(one)
	}
	for i, one := range e.Or {
		e.Or[i] = OfRequests(one)
	}
	switch e.Field {
	case "adf":
		op := e.Op
		if strings.EqualFold(e.Value, "false") {
			op = map[Op]Op{Eq: Ne, Ne: Eq}[op]
		}
		return Compare("class", op, Significant)
	case "pool":
		return ofPool(e)
	}
	return e
}

// ofPool is a condition on the uuid or the name of a pool. That there is no pool is one on the uuid: a pool whose name
// is not known is one, too.
func ofPool(e Expr) Expr {
	named := e
	named.Field = "pool_name"
	switch {
	case e.Value == "":
		return e
	case e.Op == Ne || e.Op == NotContains:
		return Expr{And: []Expr{e, named}}
	}
	return Expr{Or: []Expr{e, named}}
}
