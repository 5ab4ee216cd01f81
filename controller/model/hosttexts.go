package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// textsMost is how many texts a rule of a child may have with those of its groups: engines try one after the other.
const textsMost = 1024

// withTexts returns what a child wants, with the texts of string groups beside its own. References that stay lead to no
// group, or to one that no child can be chosen by.
func withTexts(from *source, matches []kinds.VHMatch, groups map[string]*kinds.StringGroup) []kinds.VHMatch {
	if len(groups) == 0 {
		return matches
	}
	texts := grouped{from, groups}
	matches = slices.Clone(matches)
	for i := range matches {
		matches[i].Rules = slices.Clone(matches[i].Rules)
		for j := range matches[i].Rules {
			rule := &matches[i].Rules[j]
			if rule.Matches == nil {
				continue
			}
			field, match := fmt.Sprintf("vh_matches[%d].rules[%d].matches.", i, j), *rule.Matches
			if match.Path != nil {
				path := *match.Path
				path.Values, path.GroupRefs = texts.all(field+"path", path.Criteria, path.Values, path.GroupRefs)
				match.Path = &path
			}
			if match.Query != nil {
				query := *match.Query
				query.Values, query.GroupRefs = texts.all(field+"query", query.Criteria, query.Values, query.GroupRefs)
				match.Query = &query
			}
			rule.Matches = &match
		}
	}
	return matches
}

type grouped struct {
	from   *source
	groups map[string]*kinds.StringGroup
}

// all returns texts with those of groups. If a group cannot be used, it returns what it got, and finds why.
func (g grouped) all(field, criteria string, texts, references []string) (all, left []string) {
	if len(references) == 0 {
		return texts, references
	}
	all = slices.Clone(texts)
	usable := true
	for i, reference := range references {
		at, group := fmt.Sprintf("%s.string_group_refs[%d]", field, i), g.groups[reference]
		switch {
		case group == nil:
			usable = false // follow has found that
		case group.HasValues():
			usable = false
			g.from.find(at, "string group %s has a value for each text, and values choose no child: use a group of "+
				"SG_TYPE_STRING", group.Name)
		default:
			usable = g.add(at, criteria, group, &all) && usable
		}
	}
	switch {
	case !usable:
		return texts, references
	case len(all) == 0:
		g.from.find(field+".string_group_refs", "has no texts: add one to a group")
		return texts, references
	case len(all) > textsMost:
		g.from.find(field+".string_group_refs", "has %d texts with match_str, and engines try at most %d for a rule",
			len(all), textsMost)
		return texts, references
	}
	return all, nil
}

// add adds the texts of a group that are new. False: one can match nothing.
func (g grouped) add(at, criteria string, group *kinds.StringGroup, all *[]string) bool {
	known := map[string]bool{}
	for _, text := range *all {
		known[text] = true
	}
	keys := make([]string, len(group.Pairs))
	for i, pair := range group.Pairs {
		keys[i] = pair.Key
		if kinds.ComparesBeginning(criteria) && !strings.HasPrefix(pair.Key, "/") {
			g.from.find(at, "string group %s: kv[%d].key: no path begins with %s: begin it with /", group.Name, i,
				schema.Show(pair.Key))
			return false
		}
		if !known[pair.Key] {
			known[pair.Key] = true
			*all = append(*all, pair.Key)
		}
	}
	if strings.Contains(criteria, "REGEX") {
		if i, err := kinds.CheckExpressions(keys); err != nil {
			g.from.find(at, "string group %s: kv[%d].key: %v", group.Name, i, err)
			return false
		}
	}
	return true
}
