package kinds

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

const (
	// ExpressionsOfChildMost bounds what the expressions of all rules of a child need in each worker of an engine, in
	// bytes.
	ExpressionsOfChildMost = 16 << 20
	// ExpressionsOfParentMost bounds the same for all children of a parent.
	ExpressionsOfParentMost = 64 << 20
	// ofExpression is what an expression needs however short it is.
	ofExpression = 8 << 10
)

// Expressions reads regular expressions, each text once: it may take milliseconds, and many rules may have the same
// texts. It counts what engines need for the rules of a child. The zero value has read nothing.
type Expressions struct {
	read     map[string]expression
	compiled map[string]bool // what engines have compiled once for the paths of all rules
	bytes    int
}

// expression is what was found out about a text.
type expression struct {
	bytes int
	err   error
}

// Bytes is what the rules that were added need in each worker of an engine.
func (e *Expressions) Bytes() int { return e.bytes }

func (e *Expressions) of(text string) expression {
	known, found := e.read[text]
	if !found {
		tree, err := parsed(text)
		if known.err = err; err == nil {
			known.bytes = costOf(tree)
		}
		if e.read == nil {
			e.read = map[string]expression{}
		}
		e.read[text] = known
	}
	return known
}

// Check is CheckExpressions. It reads no text again.
func (e *Expressions) Check(texts []string) (at int, _ error) {
	bytes := 0
	for i, text := range texts {
		known := e.of(text)
		if known.err != nil {
			return i, known.err
		}
		if bytes += known.bytes; bytes > expressionsCostMost {
			return i, errors.New("engines have no memory for as many and as long expressions as there are up to here")
		}
	}
	return 0, nil
}

// Add checks what a rule of a child compares, and counts what its expressions need. Engines compile those of paths once
// for all rules of a child that have the same.
func (e *Expressions) Add(field string, match *MatchTarget) *schema.FieldError {
	if problem := match.checkReading(field, e); problem != nil {
		return problem
	}
	if path := match.Path; path != nil && strings.HasPrefix(path.Criteria, "REGEX") {
		each := make([][]string, 0, len(path.Values))
		if path.Criteria == regexMatch {
			for _, text := range path.Values {
				each = append(each, []string{text})
			}
		} else {
			each = append(each, path.Values)
		}
		for _, texts := range each {
			if key := fmt.Sprintf("%s %s %q", path.Criteria, path.Case, texts); !e.compiled[key] {
				if e.compiled == nil {
					e.compiled = map[string]bool{}
				}
				e.compiled[key] = true
				e.count(texts)
			}
			if e.bytes > ExpressionsOfChildMost {
				return refuse(field+".path.match_str", tooManyExpressions, ExpressionsOfChildMost>>20)
			}
		}
	}
	if query := match.Query; query != nil && strings.HasPrefix(Comparison(query.Criteria), "REGEX") {
		if e.count(query.Values); e.bytes > ExpressionsOfChildMost {
			return refuse(field+".query.match_str", tooManyExpressions, ExpressionsOfChildMost>>20)
		}
	}
	return nil
}

const tooManyExpressions = "the expressions of the rules of this child need more than %d MiB in each worker of an " +
	"engine, up to here: use fewer or shorter ones, or the same in many rules"

func (e *Expressions) count(texts []string) {
	e.bytes += ofExpression
	for _, text := range texts {
		e.bytes += e.of(text).bytes
	}
}
