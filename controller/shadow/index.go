package shadow

import (
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// index finds the rules that may match all that another one does. A rule that compares hosts or paths with texts that
// these begin with, or are, is under each of the texts; the others are in a list.
type index struct {
	rules map[place][]*Rule
	// The lengths of texts that hosts and paths begin with.
	hosts, paths []int
}

// place is where a rule is. Both are empty for a rule that has no texts to be under.
type place struct{ host, path prefix }

// prefix is a text in small letters.
type prefix struct {
	how  dataplanev1.TextCriterion
	text string
}

// manyTexts: a rule with more is in the list.
const manyTexts = 16

func (x *index) add(rule *Rule) {
	if x.rules == nil {
		x.rules = map[place][]*Rule{}
	}
	hosts, paths := rule.prefixes("host"), rule.prefixes("path")
	if len(hosts)*len(paths) > manyTexts {
		hosts = []prefix{{}}
	}
	for _, host := range hosts {
		x.hosts = withLength(x.hosts, host)
		for _, path := range paths {
			x.paths = withLength(x.paths, path)
			at := place{host, path}
			x.rules[at] = append(x.rules[at], rule)
		}
	}
}

func withLength(lengths []int, of prefix) []int {
	if of.how == begins && !slices.Contains(lengths, len(of.text)) {
		lengths = append(lengths, len(of.text))
	}
	return lengths
}

// prefixes are the texts that a rule may be under.
func (r *Rule) prefixes(about string) (all []prefix) {
	if of := r.textsOf(about); of != nil {
		for value := range of.all() {
			if len(all) == manyTexts {
				return []prefix{{}}
			}
			all = append(all, prefix{of.criterion, value.lower})
		}
		return all
	}
	return []prefix{{}}
}

// textsOf is the comparison of a rule whose texts begin what is compared; nil: it has none.
func (r *Rule) textsOf(about string) *texts {
	for i := range r.conditions {
		one := r.conditions[i].texts
		if r.any || r.conditions[i].about != about || one == nil || one.negated ||
			one.criterion != equals && one.criterion != begins || one.withPorts {
			continue
		}
		return one
	}
	return nil
}

// each calls is for rules that may match all that a rule does, until it returns false. Each of them covers each text of
// the rule, so the first is enough to find it.
func (x *index) each(rule *Rule, is func(*Rule) bool) {
	hosts, paths := rule.covering("host", x.hosts), rule.covering("path", x.paths)
	for _, host := range hosts {
		for _, path := range paths {
			for _, one := range x.rules[place{host, path}] {
				if !is(one) {
					return
				}
			}
		}
	}
}

// covering are the texts that a wider rule may be under.
func (r *Rule) covering(about string, lengths []int) []prefix {
	all := []prefix{{}}
	of := r.textsOf(about)
	if of == nil {
		return all
	}
	first := of.lists[0][0].lower
	if of.criterion == equals {
		all = append(all, prefix{equals, first})
	}
	for _, length := range lengths {
		if length <= len(first) {
			all = append(all, prefix{begins, first[:length]})
		}
	}
	return all
}
