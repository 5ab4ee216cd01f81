package shadow

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// A match in the tests is a line of comparisons with blanks between them: what is compared, how, and the values with
// bars between them. Texts: = equals, ^ begins with, $ ends with, * contains, ~ expression, ? is there; with "case"
// before it, case counts; with "raw" before it, nothing is decoded. ! before a comparison negates it.
//
//	path^/a|/b  !host=a.test  case:path=/A  hdr:x*1  cookie:c=1  client=10.0.0.0/8  port=80-90|443  tls=1
//	group:path=animals

var comparison = regexp.MustCompile(`^(!?)(?:(case|raw|group):)?(hdr:[a-z-]+|cookie:[a-z]+|[a-z]+)([=^$*~?])(.*)$`)

var howOf = map[string]dataplanev1.TextCriterion{"=": equals, "^": begins, "$": ends, "*": contains, "~": regex,
	"?": exists}

// groups are those that matches of tests may name.
var groups = func() *Groups {
	all := &Groups{}
	all.AddStrings(&dataplanev1.StringGroup{Uuid: "empty"})
	all.AddStrings(&dataplanev1.StringGroup{Uuid: "animals", Pairs: []*dataplanev1.StringPair{{Key: "/cat"},
		{Key: "/dog"}}})
	all.AddStrings(&dataplanev1.StringGroup{Uuid: "rootless", Pairs: []*dataplanev1.StringPair{{Key: "cat"}}})
	all.AddAddresses(&dataplanev1.AddressGroup{Uuid: "empty"})
	all.AddAddresses(&dataplanev1.AddressGroup{Uuid: "ten", Subnets: []string{"10.0.0.0/8"}})
	return all
}()

func matchOf(line string) *dataplanev1.HttpMatch {
	to := &dataplanev1.HttpMatch{}
	for part := range strings.FieldsSeq(line) {
		found := comparison.FindStringSubmatch(part)
		if found == nil {
			panic(part + " is no comparison")
		}
		negated, mode, what, how := found[1] != "", found[2], found[3], found[4]
		values := strings.Split(strings.ReplaceAll(found[5], "_", " "), "|")
		texts := &dataplanev1.TextMatch{Criterion: howOf[how], Negated: negated, Values: values,
			CaseSensitive: mode == "case", Decoded: mode != "raw"}
		if how == "?" {
			texts.Values = nil
		}
		if mode == "group" {
			texts.Values, texts.StringGroupUuids = nil, values
		}
		numbers := func() *dataplanev1.NumberMatch { return numbersIn(negated, values) }
		addresses := func() *dataplanev1.AddressMatch {
			if mode == "group" {
				return &dataplanev1.AddressMatch{Negated: negated, AddressGroupUuids: values}
			}
			return &dataplanev1.AddressMatch{Negated: negated, Subnets: values}
		}
		kind, name, _ := strings.Cut(what, ":")
		switch kind {
		case "path":
			to.Path = texts
		case "query":
			to.Query = texts
		case "host":
			to.Host = texts
		case "hdr":
			to.Fields = append(to.Fields, &dataplanev1.FieldMatch{Name: name, Value: texts})
		case "cookie":
			to.Cookie = &dataplanev1.FieldMatch{Name: name, Value: texts}
		case "method":
			to.Method = &dataplanev1.NameMatch{Negated: negated, Names: values}
		case "version":
			to.Version = &dataplanev1.NameMatch{Negated: negated, Names: values}
		case "port":
			to.ListenerPort = numbers()
		case "status":
			to.Status = numbers()
		case "tls":
			to.Scheme = &dataplanev1.SchemeMatch{Tls: values[0] == "1"}
		case "client":
			to.Client = addresses()
		case "place":
			to.Place = addresses()
		case "source":
			to.Source = addresses()
		default:
			panic(part + " compares nothing")
		}
	}
	return to
}

func numbersIn(negated bool, values []string) *dataplanev1.NumberMatch {
	to := &dataplanev1.NumberMatch{Negated: negated}
	for _, value := range values {
		first, last, isRange := strings.Cut(value, "-")
		if !isRange {
			last = first
		}
		to.Ranges = append(to.Ranges, &dataplanev1.NumberRange{First: numberIn(first), Last: numberIn(last)})
	}
	return to
}

func numberIn(text string) uint32 {
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		panic(err)
	}
	return uint32(value)
}

// setOf is a set whose rules are lines: the policy, what the rule does, and its match.
func setOf(lines ...string) *dataplanev1.HttpPolicySet {
	set := &dataplanev1.HttpPolicySet{Name: "set"}
	for i, line := range lines {
		words := strings.SplitN(line+"  ", " ", 3)
		rule := &dataplanev1.HttpRule{Name: fmt.Sprint("r", i), Match: matchOf(words[2])}
		edits := []*dataplanev1.HeaderEdit{{Name: "a"}}
		switch does := words[1]; words[0] {
		case "security":
			made := &dataplanev1.HttpSecurityRule{Rule: rule}
			switch does {
			case "allow":
				made.Action = &dataplanev1.HttpSecurityRule_Allow{}
			case "close":
				made.Action = &dataplanev1.HttpSecurityRule_Close{}
			case "limit":
				made.Action = &dataplanev1.HttpSecurityRule_RateLimit{}
			default:
				panic(line)
			}
			rule.Position = uint32(len(set.SecurityRules))
			set.SecurityRules = append(set.SecurityRules, made)
		case "request":
			made := &dataplanev1.HttpRequestRule{Rule: rule}
			text := dataplanev1.UriToken{Kind: dataplanev1.UriTokenKind_URI_TOKEN_KIND_TEXT, Text: "a"}
			part := dataplanev1.UriToken{Kind: dataplanev1.UriTokenKind_URI_TOKEN_KIND_PATH, First: 3}
			switch does {
			case "respond":
				made.Action = &dataplanev1.HttpRequestRule_Response{}
			case "redirect":
				made.Action = &dataplanev1.HttpRequestRule_Redirect{Redirect: &dataplanev1.HttpRedirect{
					Host: []*dataplanev1.UriToken{&text}}}
			case "redirect-part":
				made.Action = &dataplanev1.HttpRequestRule_Redirect{Redirect: &dataplanev1.HttpRedirect{
					Path: []*dataplanev1.UriToken{&part}}}
			case "pool":
				made.Action = &dataplanev1.HttpRequestRule_Pool{}
			case "rewrite":
				made.Rewrite = &dataplanev1.HttpRewrite{Path: []*dataplanev1.UriToken{&text}}
			case "rewrite-part":
				made.Rewrite = &dataplanev1.HttpRewrite{Path: []*dataplanev1.UriToken{&part}}
			case "edit":
				made.Edits = edits
			case "log":
				rule.Log = true
			case "nothing":
			default:
				panic(line)
			}
			rule.Position = uint32(len(set.RequestRules))
			set.RequestRules = append(set.RequestRules, made)
		case "response":
			rule.Position = uint32(len(set.ResponseRules))
			set.ResponseRules = append(set.ResponseRules, &dataplanev1.HttpResponseRule{Rule: rule, Edits: edits})
		default:
			panic(line)
		}
	}
	return set
}

// said are the names of rules without effect, and why: "r1 never matches: …".
func said(found []Shadowed) (all []string) {
	for _, one := range found {
		all = append(all, one.Rule.Name+" "+one.Why)
	}
	slices.Sort(all)
	return all
}
