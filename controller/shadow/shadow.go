// Package shadow finds rules that never have an effect: because nothing matches them, or because an earlier rule takes
// all that they match. It says nothing of a rule if it is not certain, so it does not find all. Rules are those of a
// Plan: plan compiles them, and makes findings of what is found here.
//
// lists.go reads the rules of each kind of policy, rule.go one rule, condition.go one comparison; texts.go and spans.go
// say which comparison is within which.
package shadow

import (
	"fmt"
	"slices"
	"strings"
)

// Shadowed is a rule without effect.
type Shadowed struct {
	Rule *Rule  // of the policy
	Why  string // "never matches: path and host_hdr cannot both hold"
}

// Port is a range of ports that clients connect to.
type Port struct {
	First, Last uint32
	TLS, HTTP2  bool
	Told        bool // rules compare the port that a PROXY header tells, which may be any
}

// What one list may cost. A rule is compared with those before it that may match all that it does: an index finds those
// by path and host. Beyond these bounds nothing more is found in the list.
const (
	looksMost = 1 << 19 // pairs of rules
	workMost  = 1 << 19 // comparisons of texts and addresses
)

// walls are rules that keep all they match from later ones.
type walls struct {
	all   index
	looks *int
	work  *int
}

// of returns a rule that matches all that a rule does; nil: none certainly does.
func (w *walls) of(rule *Rule) (wall *Rule) {
	w.all.each(rule, func(one *Rule) bool {
		*w.looks--
		if *w.looks < 0 || *w.work < 0 {
			return false
		}
		if one.low.IsValid() && (!rule.low.IsValid() || one.low.Compare(rule.low) > 0 ||
			one.high.Compare(rule.high) < 0) &&
			!rule.any {
			return true
		}
		*w.work--
		if one.until >= rule.until && !(one.token == letsBy && rule.token == refusesBy) && rule.isWithin(one, w.work) &&
			*w.work >= 0 {
			wall = one
		}
		return wall == nil
	})
	return wall
}

func (l List) walls() walls {
	looks, work := looksMost, workMost
	return walls{looks: &looks, work: &work}
}

// Find returns the rules of a list without effect, in their order.
func (l List) Find() (found []Shadowed) {
	ends := l.walls()
	pools, rewrites := walls{looks: ends.looks, work: ends.work}, walls{looks: ends.looks, work: ends.work}
	for _, rule := range l {
		if rule.never != "" {
			found = append(found, Shadowed{rule.policys(), "never matches: " + rule.never})
			continue
		}
		if wall := ends.of(rule); wall != nil {
			found = append(found, Shadowed{rule.policys(), "never matches: " + rule.isBehind(wall) +
				" takes all that it would"})
			continue
		}
		if rule.isIdle {
			found = append(found, Shadowed{rule.policys(), "has no action: what it matches is changed in nothing"})
		}
		if rule.pool {
			if wall := pools.of(rule); wall != nil {
				found = append(found, Shadowed{rule.policys(), "never chooses its pool: " + rule.isBehind(wall) +
					" does for all that it matches"})
			} else {
				pools.all.add(rule)
			}
		}
		if rule.rewrites {
			if wall := rewrites.of(rule); wall != nil {
				found = append(found, Shadowed{rule.policys(), "never rewrites: " + rule.isBehind(wall) +
					" does for all that it matches"})
			} else {
				rewrites.all.add(rule)
			}
		}
		if rule.ends {
			ends.all.add(rule)
		}
	}
	return found
}

// FindEmpty returns the rules that nothing matches, whichever rules are before them.
func (l List) FindEmpty() (found []Shadowed) {
	for _, rule := range l {
		if rule.never != "" {
			found = append(found, Shadowed{rule.policys(), "never matches: " + rule.never})
		}
	}
	return found
}

// Exclude says that nothing matches the rule, and why.
func (r *Rule) Exclude(why string) { r.never = why }

// Weaken says that the rule may match less than its conditions say: it takes nothing from later rules.
func (r *Rule) Weaken() { r.ends = false }

// isBehind names a rule that is before another one.
func (r *Rule) isBehind(wall *Rule) string {
	if wall.Object == r.Object || wall.Object == "" {
		return fmt.Sprintf("rule %q before it (%s)", wall.Name, wall.Field)
	}
	return fmt.Sprintf("rule %q of %s before it (%s)", wall.Name, wall.Object, wall.Field)
}

// Find returns the rules of all lists without effect. Other sets may come before this one, so that a rule that refuses
// requests may not be reached: what the rules of one list do to those of the next is certain of responses only.
func (p Policies) Find() []Shadowed {
	return slices.Concat(p.Security.Find(), p.Requests.Find(), p.Responses.findBehind(p.Requests))
}

// findBehind does what Find does, for a list that is tried for what no rule of another list has refused.
func (l List) findBehind(others ...List) (found []Shadowed) {
	refusals := l.walls()
	for _, other := range others {
		for _, rule := range other {
			if rule.never == "" && rule.refuses {
				refusals.all.add(rule)
			}
			if rule.never == "" && rule.lets {
				break // what it matches is not refused by those behind it
			}
		}
	}
	var left List
	for _, rule := range l {
		if wall := refusals.of(rule); wall != nil && rule.never == "" {
			found = append(found, Shadowed{rule.policys(), "never matches: " + rule.isBehind(wall) +
				" takes all that it would"})
			continue
		}
		left = append(left, rule)
	}
	return append(found, left.Find()...)
}

// FindAll returns what has no effect in a virtual service with these sets, in their order, and these ports.
func FindAll(sets []Policies, ports []Port) []Shadowed {
	var all Policies
	for _, set := range sets {
		all.Security = append(all.Security, set.Security.At(ports)...)
		all.Requests = append(all.Requests, set.Requests.At(ports)...)
		all.Responses = append(all.Responses, set.Responses.At(ports)...)
	}
	return slices.Concat(all.Security.Find(), all.Requests.findBehind(all.Security),
		all.Responses.findBehind(all.Security, all.Requests))
}

// At returns the rules as they are for clients of these ports.
func (l List) At(ports []Port) List {
	at := make(List, len(l))
	for i, rule := range l {
		at[i] = rule.at(ports)
	}
	return at
}

func (r *Rule) at(ports []Port) *Rule {
	if r.never != "" || !some(r.conditions, (*condition).isOfPort) {
		return r
	}
	here := *r
	here.of = r
	here.conditions, here.kinds = nil, 0
	var fields, nowhereAt []string
	isAt := slices.Clone(ports)
	for i := range r.conditions {
		one := &r.conditions[i]
		if one.isOfPort() {
			fields = append(fields, one.field)
			isAt = slices.DeleteFunc(isAt, func(port Port) bool { return !one.mayHoldAt(port) })
			everywhere := !slices.ContainsFunc(ports, func(port Port) bool { return !one.holdsAt(port) })
			nowhere := !slices.ContainsFunc(ports, one.mayHoldAt)
			if nowhere {
				nowhereAt = append(nowhereAt, one.field)
			}
			switch {
			case r.any && everywhere:
				here.conditions, here.kinds = nil, 0
				return &here
			case r.any && nowhere, everywhere:
				continue
			}
		}
		here.conditions = append(here.conditions, *one)
		here.kinds |= bitOf(one.about)
	}
	if len(nowhereAt) > 0 {
		fields = nowhereAt[:1]
	}
	if r.any && len(here.conditions) == 0 || !r.any && len(isAt) == 0 {
		here.never = strings.Join(fields, " with ") + ": no port of the virtual service is like that"
	}
	return &here
}

func (c *condition) isOfPort() bool {
	return c.numbers != nil && (c.about == aboutPort || c.about == aboutTLS || c.about == aboutVersion)
}

// at is what a port has of what the condition is about.
func (c *condition) at(port Port) spans[number] {
	switch c.about {
	case aboutPort:
		if port.Told {
			return most
		}
		return spans[number]{{number(port.First), number(port.Last)}}
	case aboutTLS:
		if port.TLS {
			return spans[number]{{1, 1}}
		}
		return spans[number]{{0, 0}}
	}
	if port.HTTP2 {
		return spans[number]{{10, 11}, {20, 20}}
	}
	return spans[number]{{10, 11}}
}

// mayHoldAt tells whether the condition holds of some requests that come to a port.
func (c *condition) mayHoldAt(port Port) bool { return len(c.numbers.and(c.at(port))) > 0 }

// holdsAt tells whether it holds of all of them.
func (c *condition) holdsAt(port Port) bool { return c.at(port).within(*c.numbers) }
