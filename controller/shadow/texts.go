package shadow

import (
	"iter"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// text is what a text is compared with.
type text struct {
	own, lower string
	withPort   bool // of a host that is compared with its port
}

// texts is a comparison of texts. A rule that compares nothing that could be has no texts.
type texts struct {
	criterion dataplanev1.TextCriterion
	negated   bool
	sensitive bool
	decoded   bool
	lists     [][]text // none is empty; rules share those of groups
	single    bool     // of a thing of which a request has one text at most
	withPorts bool     // one of the texts is compared with its port
}

func (t *texts) add(list []text) {
	if len(list) > 0 {
		t.lists = append(t.lists, list)
		t.withPorts = t.withPorts || slices.ContainsFunc(list, func(one text) bool { return one.withPort })
	}
}

func (t *texts) isEmpty() bool { return len(t.lists) == 0 }

// all has the texts of all lists.
func (t *texts) all() iter.Seq[text] {
	return func(yield func(text) bool) {
		for _, list := range t.lists {
			for _, one := range list {
				if !yield(one) {
					return
				}
			}
		}
	}
}

const (
	equals   = dataplanev1.TextCriterion_TEXT_CRITERION_EQUALS
	begins   = dataplanev1.TextCriterion_TEXT_CRITERION_BEGINS_WITH
	ends     = dataplanev1.TextCriterion_TEXT_CRITERION_ENDS_WITH
	contains = dataplanev1.TextCriterion_TEXT_CRITERION_CONTAINS
	exists   = dataplanev1.TextCriterion_TEXT_CRITERION_EXISTS
	regex    = dataplanev1.TextCriterion_TEXT_CRITERION_REGEX
)

// anyText are the expressions that each text matches: a point stands for a line end, too.
var anyText = []string{"", ".*", "^.*", ".*$", "^.*$", "^", "$", "(.*)", "^(.*)$"}

func (t *texts) isLiteral() bool { return t.criterion != exists && t.criterion != regex }

// implies tells whether a request of which t holds is one of which other holds.
func (t *texts) implies(other *texts, work *int) bool {
	switch {
	case !t.negated && !other.negated:
		return t.within(other, work)
	case t.negated && other.negated:
		return other.within(t, work)
	case !t.negated:
		return t.single && t.isApart(other, work)
	}
	return false
}

// excludes tells whether no request is one of which both hold.
func (t *texts) excludes(other *texts, work *int) bool {
	switch {
	case t.negated && other.negated:
		return false
	case other.negated:
		return t.within(other, work)
	case t.negated:
		return other.within(t, work)
	}
	return t.single && t.isApart(other, work)
}

// within tells whether each text that t fits is one that other fits, whether or not they are negated.
func (t *texts) within(other *texts, work *int) bool {
	switch {
	case other.criterion == exists:
		return true
	case t.criterion == exists || t.decoded != other.decoded:
		return false
	case t.criterion == regex || other.criterion == regex:
		return t.criterion == other.criterion && t.sensitive == other.sensitive &&
			t.each(other, work, func(one, wide text) bool { return one.own == wide.own })
	case !other.sensitive:
		return t.each(other, work, func(one, wide text) bool {
			return covers(other.criterion, wide.lower, t.criterion, one.lower)
		})
	}
	return t.each(other, work, func(one, wide text) bool {
		return (t.sensitive || hasNoLetters(one.own)) && covers(other.criterion, wide.own, t.criterion, one.own)
	})
}

func (t *texts) each(other *texts, work *int, fits func(one, wide text) bool) bool {
	for _, list := range t.lists {
		isShared := slices.ContainsFunc(other.lists, func(its []text) bool { return &its[0] == &list[0] })
		for _, one := range list {
			if *work--; *work < 0 || !(isShared && fits(one, one)) && !other.has(one, work, fits) {
				return false
			}
		}
	}
	return true
}

func (t *texts) has(one text, work *int, fits func(one, wide text) bool) bool {
	for wide := range t.all() {
		if *work--; *work < 0 {
			return false
		}
		if one.withPort == wide.withPort && fits(one, wide) {
			return true
		}
	}
	return false
}

// isApart tells whether no text fits both.
func (t *texts) isApart(other *texts, work *int) bool {
	if !t.isLiteral() || !other.isLiteral() || t.decoded != other.decoded {
		return false
	}
	for one := range t.all() {
		for two := range other.all() {
			*work--
			if *work < 0 || one.withPort != two.withPort || !areApart(t.criterion, one.lower,
				other.criterion, two.lower) {
				return false
			}
		}
	}
	return true
}

// covers tells whether each text that has the narrow one in its way has the wide one in its way.
func covers(how dataplanev1.TextCriterion, wide string, of dataplanev1.TextCriterion, narrow string) bool {
	switch how {
	case equals:
		return of == equals && narrow == wide
	case begins:
		return (of == equals || of == begins) && strings.HasPrefix(narrow, wide)
	case ends:
		return (of == equals || of == ends) && strings.HasSuffix(narrow, wide)
	case contains:
		return strings.Contains(narrow, wide)
	}
	return false
}

// areApart tells whether no text has both.
func areApart(how dataplanev1.TextCriterion, one string, as dataplanev1.TextCriterion, other string) bool {
	switch {
	case how == equals:
		return !fits(as, one, other)
	case as == equals:
		return !fits(how, other, one)
	case how == begins && as == begins:
		return !strings.HasPrefix(one, other) && !strings.HasPrefix(other, one)
	case how == ends && as == ends:
		return !strings.HasSuffix(one, other) && !strings.HasSuffix(other, one)
	}
	return false
}

// fits tells whether a text is, begins with, ends with or contains a value.
func fits(how dataplanev1.TextCriterion, whole, value string) bool {
	return covers(how, value, equals, whole)
}

func hasNoLetters(of string) bool { return lowered(of) == of && uppered(of) == of }

// lowered does what engines do: letters of ASCII only.
func lowered(of string) string {
	return mapped(of, func(c byte) byte {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	})
}

func uppered(of string) string {
	return mapped(of, func(c byte) byte {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		return c
	})
}

func mapped(of string, turn func(byte) byte) string {
	for i := range len(of) {
		if turn(of[i]) == of[i] {
			continue
		}
		bytes := []byte(of)
		for j := i; j < len(bytes); j++ {
			bytes[j] = turn(bytes[j])
		}
		return string(bytes)
	}
	return of
}
