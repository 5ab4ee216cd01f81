package kinds

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// URIParam makes a host or a path of parts of the request and of constant texts.
type URIParam struct {
	Type   string          `json:"type" enum:"URIParamType" required:"true"`
	Tokens []URIParamToken `json:"tokens" items:"64"`
}

// URIParamToken is one part, or several that follow each other.
type URIParamToken struct {
	Type  string `json:"type" enum:"URITokenType" required:"true"`
	First uint32 `json:"start_index" max:"65535"` // of the parts, from 0; of an expression, 0 is all that it found
	Last  uint32 `json:"end_index" max:"65535"`   // EndOfParts: to the end
	Text  string `json:"str_value"`
}

// checkOfText checks a parameter that may take nothing from a request.
func (p *URIParam) checkOfText(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	for i := range p.Tokens {
		if kind := p.Tokens[i].Type; kind != tokenText {
			return refuse(fmt.Sprintf("%s.tokens[%d].type", field, i), "%s is of a request: use %s", kind, tokenText)
		}
	}
	return nil
}

// EndOfParts is the end_index of a token that goes on to the end.
const EndOfParts = 65535

const (
	tokenHost       = "URI_TOKEN_TYPE_HOST"
	tokenPath       = "URI_TOKEN_TYPE_PATH"
	tokenText       = "URI_TOKEN_TYPE_STRING"
	tokenGroup      = "URI_TOKEN_TYPE_STRING_GROUP"
	tokenRegex      = "URI_TOKEN_TYPE_REGEX"
	tokenRegexQuery = "URI_TOKEN_TYPE_REGEX_QUERY"
)

var (
	_ = schema.Enum("URIParamType", "URI_PARAM_TYPE_TOKENIZED")
	_ = schema.Enum("URITokenType", tokenHost, tokenPath, tokenText, tokenGroup, tokenRegex, tokenRegexQuery)
)

// URIParamQuery says what becomes of the query of a request.
type URIParamQuery struct {
	Keep bool   `json:"keep_query" default:"true"`
	Add  string `json:"add_string"`
}

// Complete ends a token that has no end at its first part.
func (*URIParamToken) Complete(o schema.Object) {
	if kind := o["type"]; kind == tokenText || kind == tokenGroup {
		return
	}
	if _, said := o["start_index"]; !said {
		o["start_index"] = int64(0)
	}
	if _, said := o["end_index"]; !said {
		o["end_index"] = o["start_index"]
	}
}

// found is what a rule's match has found, and its tokens can use.
type found struct {
	path, query *foundIn
}

// foundIn is what the match of a path or of a query has found.
type foundIn struct {
	groups      int      // number of string groups
	expressions []string // of which one matches
}

func foundBy(match *MatchTarget) (in found) {
	if match == nil {
		return in
	}
	one := func(criteria string, values, groups []string) *foundIn {
		in := &foundIn{}
		if how := Comparison(criteria); !strings.Contains(how, "NOT") {
			in.groups = len(groups)
			if how == regexMatch {
				in.expressions = values
			}
		}
		return in
	}
	if path := match.Path; path != nil {
		in.path = one(path.Criteria, path.Values, path.GroupRefs)
	}
	if query := match.Query; query != nil {
		in.query = one(query.Criteria, query.Values, query.GroupRefs)
	}
	return in
}

// check checks what a host or a path is made of; allowed says which constant texts it may have.
func (p *URIParam) check(field string, allowed textRule, match *MatchTarget) *schema.FieldError {
	if p == nil {
		return nil
	}
	if len(p.Tokens) == 0 {
		return refuse(field+".tokens", "is empty: give at least one token")
	}
	for i := range p.Tokens {
		if problem := p.Tokens[i].check(fmt.Sprintf("%s.tokens[%d]", field, i), allowed, match); problem != nil {
			return problem
		}
	}
	return nil
}

// checkOfLocation refuses the tokens that take what a rule has found: a Location is made of the server's.
func (p *URIParam) checkOfLocation(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	for i, token := range p.Tokens {
		switch token.Type {
		case tokenRegex, tokenRegexQuery, tokenGroup:
			return refuse(fmt.Sprintf("%s.tokens[%d].type", field, i), "%s cannot be here: use %s, %s and %s, of the "+
				"Location that the server gives", token.Type, tokenHost, tokenPath, tokenText)
		}
	}
	return nil
}

func (t *URIParamToken) check(field string, allowed textRule, match *MatchTarget) *schema.FieldError {
	in := foundBy(match)
	switch t.Type {
	case tokenText:
		return allowed.check(field+".str_value", t.Text)
	case tokenGroup:
		if (in.path == nil || in.path.groups == 0) && (in.query == nil || in.query.groups == 0) {
			return refuse(field+".type", "%s needs a match of the rule with string_group_refs of a path or a query, "+
				"by a criterion that is not negated", t.Type)
		}
	case tokenRegex:
		return cmp.Or(t.checkParts(field), t.checkExpressions(field, in.path, "match.path"))
	case tokenRegexQuery:
		return cmp.Or(t.checkParts(field), t.checkExpressions(field, in.query, "match.query"))
	default:
		return t.checkParts(field)
	}
	return nil
}

func (t *URIParamToken) checkParts(field string) *schema.FieldError {
	switch {
	case t.Text != "":
		return refuse(field+".str_value", "is for %s", tokenText)
	case t.Last < t.First:
		return refuse(field+".end_index", "%d is before start_index %d", t.Last, t.First)
	}
	return nil
}

// checkExpressions checks that each expression has the groups that the token names.
func (t *URIParamToken) checkExpressions(field string, in *foundIn, where string) *schema.FieldError {
	if in == nil || len(in.expressions) == 0 {
		return refuse(field+".type", "%s needs a %s of the rule by REGEX_MATCH, with match_str", t.Type, where)
	}
	for _, text := range in.expressions {
		read, err := Expression(text)
		if err != nil {
			continue // the match says so
		}
		if groups := uint32(read.NumSubexp()); t.First > groups || t.Last != EndOfParts && t.Last > groups {
			return refuse(field+".end_index", "%s has %d groups in parentheses", schema.Show(text), groups)
		}
	}
	return nil
}

// textRule says which constant texts a host, a path or a query may have.
type textRule struct {
	pattern *regexp.Regexp
	advice  string
}

var (
	hostText = textRule{regexp.MustCompile(`^[A-Za-z0-9_.-]+$`), "letters, digits, ., - and _ only"}
	// hostPortText is for the field Host, which may have a port.
	hostPortText = textRule{regexp.MustCompile(`^[A-Za-z0-9_.-]+(:[0-9]{1,5})?$`),
		"letters, digits, ., - and _, and a port behind a : at most"}
	pathText = textRule{regexp.MustCompile(`^[^\x00-\x20\x7f?#\\]+$`),
		"no spaces, ?, # or \\: the query has fields of its own"}
	queryText = textRule{regexp.MustCompile(`^[!-\x22$-~]+$`), "ASCII without spaces and #"}
)

func (r textRule) check(field, text string) *schema.FieldError {
	switch {
	case text == "":
		return refuse(field, "is required")
	case len(text) > textMost:
		return refuse(field, "has %d bytes: give at most %d", len(text), textMost)
	case !r.pattern.MatchString(text):
		return refuse(field, "%s cannot be here: use %s", schema.Show(text), r.advice)
	}
	return nil
}

// UsesGroupValue tells whether a host or a path has the value of a string group.
func (p *URIParam) UsesGroupValue() bool {
	return p != nil && slices.ContainsFunc(p.Tokens, func(t URIParamToken) bool { return t.Type == tokenGroup })
}

// checkQuery checks what is added to a query; nothing may be.
func checkQuery(field, add string) *schema.FieldError {
	if add == "" {
		return nil
	}
	return queryText.check(field, add)
}
