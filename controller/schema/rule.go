package schema

import "strings"

// Rule says what happens to an object that has a field of Avi's without a function in Weir. The first rule of the kind
// counts that names the field, or an object that the field is in. A field that no rule names has no effect, for the
// reason in the last rule of the kind. But if its name or content looks like a protection (guarding in kept.go), it
// closes the virtual service: a protection that Weir does not know must never be dropped silently.
//
// Fields separates names by spaces; a name that ends with * stands for all names with that beginning. In Unread, a name
// may be followed by = and a value: the rule is about that value then; one that ends with * stands for all values with
// that beginning.
type Rule struct {
	effect effect
	Why    string
	Fields string
}

// effect is what Weir does with an object that has such a field.
type effect int

const (
	noEffect effect = iota // a write gives a warning
	closes                 // no virtual service is served with it, and a write gives a warning
	refused                // a write is refused, because there is no virtual service to close
)

// NoEffect is the rule for fields that Weir can ignore. It warns the writer.
func NoEffect(why, fields string) Rule { return Rule{noEffect, why, fields} }

// Closes is the rule for fields with which no virtual service is served. Weir warns the writer.
func Closes(why, fields string) Rule { return Rule{closes, why, fields} }

// Refuses is the rule for fields that Weir does not accept, because there is no virtual service to close.
func Refuses(why, fields string) Rule { return Rule{refused, why, fields} }

// judgement is what the rules say about a field.
type judgement struct {
	effect effect
	why    string
}

// The reasons for fields that no rule names.
const (
	Unheeded     = "Weir does not act on it"
	unknownGuard = "Weir does not know how to do what it asks for"
)

// judge returns the judgement on a field. A rule can name the field, or an object that contains it.
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
	case k.Serving == Apart: // there is no virtual service to close
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

// rulesInside tells whether a rule names a field within this one. Then the fields within are judged one by one.
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

// noteUnread marks the fields of the struct that the Unread rules name.
func (k *Kind) noteUnread() {
	for _, rule := range k.Unread {
		for name := range strings.FieldsSeq(rule.Fields) {
			name, _, _ = strings.Cut(name, "=")
			f := k.record.at(name)
			if f == nil || f.kept {
				panic("schema: no struct of " + k.Name + " has " + name)
			}
			f.unread = true
		}
	}
}

// at finds a field by its path, without positions in lists; nil: there is none.
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

// judgeUnread returns the judgement on a field of a struct. A struct can be used in several places of a kind; its field
// may have a function in some of them. about is the name in the rule.
func (k *Kind) judgeUnread(field string, value any) (judged judgement, about string) {
	for _, rule := range k.Unread {
		for about := range strings.FieldsSeq(rule.Fields) {
			name, only, ofValue := strings.Cut(about, "=")
			if name == field && (!ofValue || isOf(value, only)) {
				return judgement{rule.effect, rule.Why}, about
			}
		}
	}
	return judgement{}, ""
}

// isOf tells whether a value is one that a rule is about.
func isOf(value any, only string) bool {
	text, _ := value.(string)
	beginning, wild := strings.CutSuffix(only, "*")
	return text == only || wild && strings.HasPrefix(text, beginning)
}
