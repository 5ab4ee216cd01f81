package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// TextsMost is how many texts a rule of a child may compare the path with, and how many the query, with those of its
// groups: engines try one after the other. A text that is there twice counts twice.
const TextsMost = 1024

// TextsOfChildMost is how many texts the rules of a child may have of groups, all together.
const TextsOfChildMost = 32_768

// Origins tell which texts of the rules of a child come from string groups alone, by what these rules match.
type Origins map[*MatchTarget]origin

type origin struct {
	path  map[string]string // names of groups, by text
	query []string          // names of groups with a new text; empty: the query is compared with own texts only
}

// WithTexts returns what a child wants, with the texts of string groups, by reference, beside its own. References that
// stay lead to no group, or to one that no child can be chosen by. find is told why. nil: nobody is, and expressions
// are taken as they are, because it takes long to read them.
func WithTexts(
	matches []VHMatch, groups map[string]*StringGroup, find func(field, problem string, args ...any),
) ([]VHMatch, Origins) {
	if len(groups) == 0 {
		return matches, nil
	}
	texts, origins := &groupTexts{groups: groups, tell: find, faults: map[*StringGroup]string{}}, Origins{}
	matches = slices.Clone(matches)
	for i := range matches {
		matches[i].Rules = slices.Clone(matches[i].Rules)
		for j := range matches[i].Rules {
			rule := &matches[i].Rules[j]
			if rule.Matches == nil {
				continue
			}
			field, match, from := fmt.Sprintf("vh_matches[%d].rules[%d].matches.", i, j), *rule.Matches, origin{}
			if match.Path != nil {
				path := *match.Path
				path.Values, path.GroupRefs, from.path = texts.all(field+"path", path.Criteria, path.Values,
					path.GroupRefs)
				match.Path = &path
			}
			if match.Query != nil {
				query, byText := *match.Query, map[string]string(nil)
				query.Values, query.GroupRefs, byText = texts.all(field+"query", query.Criteria, query.Values,
					query.GroupRefs)
				match.Query, from.query = &query, namesIn(byText)
			}
			rule.Matches = &match
			if len(from.path)+len(from.query) > 0 {
				origins[&match] = from
			}
		}
	}
	return matches, origins
}

// namesIn returns the groups that texts are from, sorted.
func namesIn(byText map[string]string) (names []string) {
	for _, name := range byText {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type groupTexts struct {
	groups map[string]*StringGroup
	tell   func(field, problem string, args ...any) // nil: nobody
	faults map[*StringGroup]string                  // of those whose texts were read as expressions
	read   int                                      // texts of groups, for all rules so far
}

func (g *groupTexts) find(field, problem string, args ...any) {
	if g.tell != nil {
		g.tell(field, problem, args...)
	}
}

// all returns texts with those of groups, and the groups of those that are new. If a group cannot be used, it returns
// what it got, and finds why. It counts before it reads.
func (g *groupTexts) all(field, criteria string, texts, references []string) (
	all, left []string, origins map[string]string,
) {
	if len(references) == 0 {
		return texts, references, nil
	}
	count, usable := 0, true
	for i, reference := range references {
		switch group := g.groups[reference]; {
		case group == nil:
			usable = false // whoever looked for the groups has found that
		case group.HasValues():
			usable = false
			g.find(fmt.Sprintf("%s.string_group_refs[%d]", field, i), "string group %s has a value for each text, and "+
				"values choose no child: use a group of SG_TYPE_STRING", group.Name)
		default:
			count += len(group.Pairs)
		}
	}
	switch {
	case !usable:
		return texts, references, nil
	case len(texts)+count == 0:
		g.find(field+".string_group_refs", "has no texts: add one to a group")
		return texts, references, nil
	case len(texts)+count > TextsMost:
		g.find(field+".string_group_refs", "has %d texts with match_str, and engines try at most %d for a rule",
			len(texts)+count, TextsMost)
		return texts, references, nil
	case g.read+count > TextsOfChildMost:
		g.find(field+".string_group_refs",
			"the rules of a child have at most %d texts of groups, and up to here these "+
				"have %d: use fewer rules with groups", TextsOfChildMost, g.read+count)
		return texts, references, nil
	}
	g.read += count
	known := map[string]bool{}
	for _, text := range texts {
		known[text] = true
	}
	all, origins = slices.Clone(texts), map[string]string{}
	for i, reference := range references {
		group := g.groups[reference]
		usable = g.usable(fmt.Sprintf("%s.string_group_refs[%d]", field, i), criteria, group) && usable
		for _, pair := range group.Pairs {
			if !known[pair.Key] {
				known[pair.Key], origins[pair.Key] = true, group.Name
				all = append(all, pair.Key)
			}
		}
	}
	if !usable {
		return texts, references, nil
	}
	return all, nil, origins
}

// usable tells whether each text of a group can match something.
func (g *groupTexts) usable(field, criteria string, group *StringGroup) bool {
	for i, pair := range group.Pairs {
		if ComparesBeginning(criteria) && !strings.HasPrefix(pair.Key, "/") {
			g.find(field, "string group %s: kv[%d].key: no path begins with %s: begin it with /", group.Name, i,
				schema.Show(pair.Key))
			return false
		}
	}
	if strings.Contains(criteria, "REGEX") && g.tell != nil {
		if fault := g.faultIn(group); fault != "" {
			g.find(field, "string group %s: %s", group.Name, fault)
			return false
		}
	}
	return true
}

// faultIn says why the texts of a group are no expressions; empty: they are. Many rules may name the group.
func (g *groupTexts) faultIn(group *StringGroup) string {
	fault, known := g.faults[group]
	if !known {
		fault = group.FaultOfExpressions()
		g.faults[group] = fault
	}
	return fault
}
