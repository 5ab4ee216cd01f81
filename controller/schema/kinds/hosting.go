package kinds

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// Virtual hosting: a parent has the addresses and ports of several virtual services, its children. It gives each
// connection to a child by the TLS server name, or each request by its host, its path and what else rules compare.

const (
	vhParent   = "VS_TYPE_VH_PARENT"
	vhChild    = "VS_TYPE_VH_CHILD"
	vhEnhanced = "VS_TYPE_VH_ENHANCED"
)

var (
	_ = schema.Enum("VirtualHostingType", "VS_TYPE_VH_SNI", vhEnhanced)
	_ = schema.Enum("VirtualServiceType", "VS_TYPE_NORMAL", vhParent, vhChild)
)

// VHMatch is a host of a child, and which of its requests the child wants: those that one of the rules matches.
type VHMatch struct {
	Host  string        `json:"host" required:"true"`
	Rules []VHMatchRule `json:"rules"`
}

// VHMatchRule is a rule with its name.
type VHMatchRule struct {
	Name    string       `json:"name" required:"true"`
	Matches *MatchTarget `json:"matches" required:"true"`
}

// IsParent tells whether a virtual service gives its clients to children.
func (vs *VirtualService) IsParent() bool { return vs.Type == vhParent }

// IsChild tells whether a virtual service gets its clients from a parent.
func (vs *VirtualService) IsChild() bool { return vs.Type == vhChild }

// ByRequest tells whether each request is given to a child, and not each connection.
func (vs *VirtualService) ByRequest() bool { return vs.VHType == vhEnhanced }

// Wish is something that only one child of a parent may want: a host, or a path of a host.
type Wish struct {
	Field string // "vh_domain_name[0]"
	Key   string // equal for equal wishes
	Text  string // what is compared, as it was written
	Group string // name of the string group, or of several, that the wish comes from; empty: the child's own
}

// Wishes returns what a child wants. Texts of string groups are among them if WithTexts has added these; origins tells
// which they are.
func (vs *VirtualService) Wishes(origins Origins) (wishes []Wish) {
	if !vs.ByRequest() {
		for i, name := range vs.VHDomainNames {
			wishes = append(wishes, Wish{Field: fmt.Sprintf("vh_domain_name[%d]", i), Key: strings.ToLower(name),
				Text: name})
		}
		return wishes
	}
	for i, match := range vs.VHMatches {
		field, host := fmt.Sprintf("vh_matches[%d]", i), strings.ToLower(match.Host)
		if len(match.Rules) == 0 {
			wishes = append(wishes, Wish{Field: field, Key: host, Text: match.Host})
		}
		for j, rule := range match.Rules {
			for _, wish := range rule.wishes(origins[rule.Matches]) {
				wish.Field, wish.Key = fmt.Sprintf("%s.rules[%d]", field, j), host+wish.Key
				wishes = append(wishes, wish)
			}
		}
	}
	return wishes
}

// wishes returns a wish for each thing that a rule matches: one for each value, unless no value may match.
func (r *VHMatchRule) wishes(from origin) []Wish {
	if r.Matches == nil {
		return []Wish{{}}
	}
	beside, query := r.Matches.besidePath(), strings.Join(from.query, ", ")
	if r.Matches.Path == nil {
		return []Wish{{Key: beside, Group: query}}
	}
	path := r.Matches.Path
	values := path.Values
	if path.Case != "SENSITIVE" && !strings.HasPrefix(path.Criteria, "REGEX") { // \S is not \s
		values = lowered(values)
	}
	how := fmt.Sprintf(" %s %s %t ", path.Criteria, path.Case, path.Decoded)
	if strings.Contains(path.Criteria, "NOT") {
		key := how + fmt.Sprintf("%q", slices.Concat(values, path.GroupRefs)) + beside
		return []Wish{{Key: key, Group: cmp.Or(strings.Join(namesIn(from.path), ", "), query)}}
	}
	var wishes []Wish
	for i, value := range values {
		text := path.Values[i]
		key := how + fmt.Sprintf("%q", value) + beside
		wishes = append(wishes, Wish{Key: key, Text: text, Group: cmp.Or(from.path[text], query)})
	}
	return wishes
}

// besidePath returns a text that tells apart what matches compare beside the path; empty: nothing.
func (m *MatchTarget) besidePath() string {
	beside := *m
	beside.Path = nil
	if len(m.Hdrs) == 0 {
		beside.Hdrs = nil
	}
	beside.GeoMatches = nil
	for i := range m.GeoMatches {
		match := m.GeoMatches[i]
		match.Values = nil
		for _, value := range m.GeoMatches[i].Values {
			match.Values = append(match.Values, match.Place(value))
		}
		slices.Sort(match.Values)
		match.Values = slices.Compact(match.Values)
		beside.GeoMatches = append(beside.GeoMatches, match)
	}
	if reflect.DeepEqual(beside, MatchTarget{}) {
		return ""
	}
	text, err := json.Marshal(beside)
	if err != nil {
		panic("kinds: " + err.Error()) // it has texts and numbers only
	}
	return fmt.Sprintf(" and %x", sha256.Sum256(text))
}

// lowered makes texts the same that are the same where case does not count.
func lowered(texts []string) []string {
	lower := make([]string, len(texts))
	for i, text := range texts {
		lower[i] = strings.ToLower(text)
	}
	return lower
}

var hostPattern = regexp.MustCompile(`^(\*?\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?$`)

func checkHost(field, name string) *schema.FieldError {
	begins := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "*")
	if len(name) <= 253 && hostPattern.MatchString(name) && !(begins && strings.HasSuffix(name, "*")) {
		return nil
	}
	return &schema.FieldError{Field: field, Problem: fmt.Sprintf(
		"%q is no name of a host: write www.example.com, *.example.com, .example.com or www.example.*", name)}
}

// checkHosting refuses a child with fields of a parent, and the other way round.
func (vs *VirtualService) checkHosting() *schema.FieldError {
	refuse := func(field, problem string) *schema.FieldError {
		return &schema.FieldError{Field: field, Problem: problem}
	}
	switch {
	case !vs.IsChild() && vs.VHParentRef != "":
		return refuse("vh_parent_vs_ref", "only a VS_TYPE_VH_CHILD has a parent: set type, or remove it")
	case !vs.IsChild() && len(vs.VHMatches) > 0:
		return refuse("vh_matches", "only a VS_TYPE_VH_CHILD is chosen by requests: set type, or remove it")
	case !vs.IsChild():
		return nil
	case vs.VHParentRef == "":
		return refuse("vh_parent_vs_ref", "is required: a child gets its clients from a parent")
	case len(vs.Services) > 0:
		return refuse("services", "a child has no ports of its own, its clients come through its parent: remove it")
	case vs.VsVipRef != "":
		return refuse("vsvip_ref", "a child has no address of its own, its clients come through its parent: remove it")
	case len(vs.Vips) > 0:
		return refuse("vip", "a child has no address of its own, its clients come through its parent: remove it")
	case vs.ByRequest():
		return vs.checkMatches()
	case len(vs.VHMatches) > 0:
		return refuse("vh_matches", "is for vh_type VS_TYPE_VH_ENHANCED: a child of VS_TYPE_VH_SNI has vh_domain_name")
	case len(vs.VHDomainNames) == 0:
		return refuse("vh_domain_name", "is empty: give at least one name of a host")
	}
	return checkHosts(vs.VHDomainNames)
}

func checkHosts(names []string) *schema.FieldError {
	for i, name := range names {
		field := fmt.Sprintf("vh_domain_name[%d]", i)
		if problem := checkHost(field, name); problem != nil {
			return problem
		}
		same := func(other string) bool { return strings.EqualFold(other, name) }
		if slices.ContainsFunc(names[:i], same) {
			return &schema.FieldError{Field: field, Problem: fmt.Sprintf("%s is there twice", name)}
		}
	}
	return nil
}

func (vs *VirtualService) checkMatches() *schema.FieldError {
	if len(vs.VHMatches) == 0 {
		return &schema.FieldError{Field: "vh_matches", Problem: "is empty: give at least one host"}
	}
	expressions := new(Expressions)
	for i, match := range vs.VHMatches {
		field := fmt.Sprintf("vh_matches[%d]", i)
		if problem := checkHost(field+".host", match.Host); problem != nil {
			return problem
		}
		for j, rule := range match.Rules {
			if path := rule.Matches.Path; path != nil && len(path.Values)+len(path.GroupRefs) == 0 {
				return &schema.FieldError{Field: fmt.Sprintf("%s.rules[%d].matches.path.match_str", field, j),
					Problem: "is empty: give a text to compare the path with, or string_group_refs"}
			}
			if problem := expressions.Add(fmt.Sprintf("%s.rules[%d].matches", field, j), rule.Matches); problem != nil {
				return problem
			}
		}
	}
	return nil
}
