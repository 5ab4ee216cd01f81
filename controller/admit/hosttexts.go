package admit

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// Children may want something by the texts of string groups. A write after which two would want the same is refused,
// unless they did before: then plan decides between them, and has a finding.

const textsKind = "stringgroup"

// textsReadMost bounds how many texts of groups one write reads: all other writers wait for it. What is beyond, plan
// alone compares.
const textsReadMost = 1 << 16

// groupsKey is the key under which the store finds the children of a parent that want a part of a host by groups.
func groupsKey(parentUUID, host string) string {
	return "groups " + parentUUID + " " + strings.ToLower(host)
}

// groupsKeys returns a key for each host that a child wants a part of by groups.
func groupsKeys(child *kinds.VirtualService, parentUUID string) (keys []string) {
	known := map[string]bool{}
	for _, match := range child.VHMatches {
		key := groupsKey(parentUUID, match.Host)
		for _, rule := range match.Rules {
			if len(textGroupsOf(rule)) > 0 && !known[key] {
				known[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// textGroupsOf returns references to the groups whose texts tell what a rule wants.
func textGroupsOf(rule kinds.VHMatchRule) (references []string) {
	if rule.Matches == nil {
		return nil
	}
	if path := rule.Matches.Path; path != nil {
		references = append(references, path.GroupRefs...)
	}
	if query := rule.Matches.Query; query != nil {
		references = append(references, query.GroupRefs...)
	}
	return references
}

// hostTexts knows what children want with the texts of groups.
type hostTexts struct {
	view   *store.View
	groups map[string]*kinds.StringGroup // by reference, as far as they were read
	left   int                           // texts that may be read
}

func newHostTexts(view *store.View) *hostTexts {
	return &hostTexts{view: view, groups: map[string]*kinds.StringGroup{}, left: textsReadMost}
}

// wishes returns what a child wants. Groups that cannot be read, or that are too many, add nothing. Expressions are
// only compared: a text that is no expression is compared like the others.
func (h *hostTexts) wishes(child *kinds.VirtualService) []kinds.Wish {
	groups := map[string]*kinds.StringGroup{}
	for _, match := range child.VHMatches {
		for _, rule := range match.Rules {
			for _, reference := range textGroupsOf(rule) {
				if group := h.group(reference); group != nil {
					groups[reference] = group
					h.left -= len(group.Pairs) // of each rule: it gets a copy
				}
			}
		}
	}
	if len(groups) == 0 || h.left < 0 {
		return child.Wishes(nil)
	}
	resolved, origins := *child, kinds.Origins(nil)
	resolved.VHMatches, origins = kinds.WithTexts(child.VHMatches, groups, nil)
	return resolved.Wishes(origins)
}

func (h *hostTexts) group(reference string) *kinds.StringGroup {
	group, known := h.groups[reference]
	if known || h.left < 0 {
		return group
	}
	if record, found := h.view.Get(textsKind, strings.TrimPrefix(reference, schema.RefPath(textsKind, ""))); found {
		texts, _ := record.Object["kv"].([]any)
		if h.left -= len(texts); h.left >= 0 {
			group, _ = schema.Into[kinds.StringGroup](record.Object) // nil if it cannot be read
		}
	}
	h.groups[reference] = group
	return group
}

// taken returns the first thing that a child wants by now, did not want before, and another child of its parent wants
// too, by which group this one does, and its record; nil: there is none.
func (h *hostTexts) taken(child *kinds.VirtualService, uuid, parentUUID string, before []kinds.Wish) (
	ours kinds.Wish, byGroup string, other *store.Record,
) {
	had, wanted := map[string]bool{}, map[string]kinds.Wish{}
	for _, wish := range before {
		had[wish.Key] = true
	}
	for _, wish := range h.wishes(child) {
		if had[wish.Key] {
			continue
		}
		for other := range h.view.Indexed(wishKey(parentUUID, wish)) {
			if other.UUID != uuid {
				return wish, "", other
			}
		}
		if _, twice := wanted[wish.Key]; !twice {
			wanted[wish.Key] = wish
		}
	}
	if len(wanted) == 0 {
		return kinds.Wish{}, "", nil
	}
	seen := map[string]bool{uuid: true}
	for _, match := range child.VHMatches {
		for sibling := range h.view.Indexed(groupsKey(parentUUID, match.Host)) {
			if seen[sibling.UUID] {
				continue
			}
			if h.left < 0 {
				return kinds.Wish{}, "", nil
			}
			seen[sibling.UUID] = true
			that, _ := childOf(sibling)
			for _, wish := range h.wishes(that) {
				if ours, both := wanted[wish.Key]; both && wish.Group != "" {
					return ours, wish.Group, sibling
				}
			}
		}
	}
	return kinds.Wish{}, "", nil
}

// textsOfChildAreFree refuses a child that comes to want what another one wants, where one of them does by groups.
func textsOfChildAreFree(
	view *store.View, stored *store.Record, child *kinds.VirtualService, uuid, parentUUID string,
) error {
	texts, before := newHostTexts(view), []kinds.Wish(nil)
	if stored != nil {
		if was, parent := childOf(stored); was != nil && parent == parentUUID {
			before = texts.wishes(was)
		}
	}
	ours, byGroup, other := texts.taken(child, uuid, parentUUID, before)
	if other == nil {
		return nil
	}
	problem := fmt.Sprintf("is wanted by child %s of the same parent already", other.Name)
	if byGroup != "" {
		problem += ", by string group " + byGroup
	}
	if ours.Group != "" {
		problem = fmt.Sprintf("what it wants by string group %s%s %s", ours.Group, shownText(ours.Text), problem)
	}
	return &schema.FieldError{Kind: serviceKind, Field: ours.Field, Problem: problem}
}

// textsOfGroupAreFree refuses a string group by which a child would come to want what another one wants.
func textsOfGroupAreFree(view *store.View, stored, written *store.Record) error {
	if stored == nil {
		return nil // nobody refers to it
	}
	was, err := schema.Into[kinds.StringGroup](stored.Object)
	if err != nil {
		return nil // nobody was served by it
	}
	before, after := newHostTexts(view), newHostTexts(view)
	before.groups[schema.RefPath(textsKind, written.UUID)] = was
	for referrer := range view.Referrers(textsKind, written.UUID) {
		child, parentUUID := childOf(referrer)
		if child == nil || before.left < 0 || after.left < 0 {
			continue
		}
		ours, _, other := after.taken(child, referrer.UUID, parentUUID, before.wishes(child))
		if other != nil && before.left >= 0 {
			return &schema.FieldError{Kind: textsKind, Field: fieldOfText(written, ours.Text), Problem: fmt.Sprintf(
				"child %s compares requests with this group (%s), and child %s of the same parent wants the same already",
				referrer.Name, ours.Field, other.Name)}
		}
	}
	return nil
}

func fieldOfText(group *store.Record, text string) string {
	pairs, _ := group.Object["kv"].([]any)
	for i := range pairs {
		if pair, ok := pairs[i].(schema.Object); ok && pair["key"] == text {
			return fmt.Sprintf("kv[%d].key", i)
		}
	}
	return "kv"
}

func shownText(text string) string {
	if text == "" {
		return ""
	}
	return " (" + schema.Show(text) + ")"
}
