package schema

import (
	"slices"
	"strings"
)

// Rule says what becomes of an object with a field that Avi knows and Weir does not act on: the first rule of its kind
// that names the field, or what the field is within. What no rule names has no effect, as the last rule of the kind
// says why; unless it looks as if it kept somebody out (guarding in kept.go): then it closes, so that nothing is ever
// opened by omission.
//
// Fields are named with spaces between; a name that ends with * stands for all that begin so.
type Rule struct {
	effect effect
	Why    string
	Fields string
}

// effect is what becomes of an object with a field that Weir does not act on.
type effect int

const (
	noEffect  effect = iota // whoever sets it is told
	restricts               // another part of Weir heeds it as far as it is safe to, and whoever sets it is told
	closes                  // no virtual service serves with it, and whoever sets it is told
	refused                 // it is not accepted: nothing could be closed for it
)

// NoEffect is the rule for fields that change nothing: whoever sets one is told why.
func NoEffect(why, fields string) Rule { return Rule{noEffect, why, fields} }

// Restricts is the rule for fields that another part of Weir heeds as far as it is safe to; whoever sets one is told.
func Restricts(why, fields string) Rule { return Rule{restricts, why, fields} }

// Closes is the rule for fields with which no virtual service serves; whoever sets one is told why.
func Closes(why, fields string) Rule { return Rule{closes, why, fields} }

// Refuses is the rule for fields that are not accepted, because nothing could be closed for them.
func Refuses(why, fields string) Rule { return Rule{refused, why, fields} }

// judgement is what a rule says of a field.
type judgement struct {
	effect effect
	why    string
}

// What becomes of a field that no rule names.
const (
	Unheeded     = "Weir does not act on it"
	unknownGuard = "Weir does not know how to do what it asks for"
)

// judge finds the rule for a field, or for what it is within.
func (k *Kind) judge(field string, guards bool) judgement {
	otherwise := judgement{noEffect, Unheeded}
	for _, rule := range k.Kept {
		if rule.Fields == "" {
			otherwise = judgement{rule.effect, rule.Why}
		}
		if rule.names(field) {
			return judgement{rule.effect, rule.Why}
		}
	}
	switch {
	case !guards:
		return otherwise
	case k.Serving == Apart: // of those there is nothing to close
		return judgement{refused, unknownGuard}
	}
	return judgement{closes, unknownGuard}
}

func (r Rule) names(field string) bool {
	for name := range strings.FieldsSeq(r.Fields) {
		beginning, wild := strings.CutSuffix(name, "*")
		if wild && strings.HasPrefix(field, beginning) || field == name || strings.HasPrefix(field, name+".") {
			return true
		}
	}
	return false
}

// rulesInside tells whether a rule names something within a field, so that the field is not judged as a whole.
func (k *Kind) rulesInside(field string) bool {
	for _, rule := range k.Kept {
		for name := range strings.FieldsSeq(rule.Fields) {
			if strings.HasPrefix(name, field+".") {
				return true
			}
		}
	}
	return false
}

// noteUnread marks the fields of structs that are told of.
func (k *Kind) noteUnread() {
	for _, rule := range k.Unread {
		for name := range strings.FieldsSeq(rule.Fields) {
			f := k.record.at(name)
			if f == nil || f.kept {
				panic("schema: no struct of " + k.Name + " has " + name)
			}
			f.unread = true
		}
	}
}

// at finds a field by its path without places in lists; nil: there is none.
func (r *record) at(path string) *field {
	name, rest, deeper := strings.Cut(path, ".")
	f := r.byName[name]
	if f == nil || !deeper {
		return f
	}
	if f.shape == list {
		f = f.element
	}
	if f.shape != object {
		return nil
	}
	return f.record.at(rest)
}

// judgeUnread finds the rule for a field that a struct has; structs stand in more than one place, and may be read in
// some.
func (k *Kind) judgeUnread(field string) (judgement, bool) {
	for _, rule := range k.Unread {
		if slices.Contains(strings.Fields(rule.Fields), field) {
			return judgement{rule.effect, rule.Why}, true
		}
	}
	return judgement{}, false
}
