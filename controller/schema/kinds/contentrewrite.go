package kinds

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
)

// ContentRewriteProfile replaces texts in the content of responses.
type ContentRewriteProfile struct {
	ContentRef string               `json:"rewritable_content_ref" ref:"stringgroup" default:"System-Rewritable-Content-Types"`
	Rules      []ContentRewriteRule `json:"rsp_rewrite_rules" items:"1"`
}

// ContentRewriteRule has the texts.
type ContentRewriteRule struct {
	Enabled bool                `json:"enable"`
	Index   int32               `json:"index"`
	Name    string              `json:"name"`
	Pairs   []SearchReplacePair `json:"pairs" items:"128"`
}

// SearchReplacePair is a text, and what stands in its place then: nothing, without a replacement.
type SearchReplacePair struct {
	Search      SearchText   `json:"search_string" required:"true"`
	Replacement *ReplaceText `json:"replacement_string"`
}

// SearchText is what is searched for.
type SearchText struct {
	Type  string `json:"type" enum:"SearchStringType" default:"SEARCH_LITERAL_STRING"`
	Value string `json:"val" required:"true"`
}

// ReplaceText is what replaces it.
type ReplaceText struct {
	Type  string `json:"type" enum:"ReplaceStringType" default:"LITERAL_STRING"`
	Value string `json:"val"`
}

const (
	searchLiteral  = "SEARCH_LITERAL_STRING"
	replaceLiteral = "LITERAL_STRING"

	// SearchExpression has engines search for a regular expression.
	SearchExpression = "SEARCH_REGEX"
	// SearchVariable has them search for what a variable stands for.
	SearchVariable = "SEARCH_AVI_VAR"
	// ReplaceVariable has them write what a variable stands for.
	ReplaceVariable = "AVI_VAR"
	// ReplaceCombination has them write texts, variables and groups: see Template.
	ReplaceCombination = "COMBINATION_STRING"
)

var (
	_ = schema.Enum("SearchStringType",
		"SEARCH_DATASCRIPT_VAR", SearchVariable, searchLiteral, SearchExpression)
	_ = schema.Enum("ReplaceStringType", "DATASCRIPT_VAR", ReplaceVariable, replaceLiteral, ReplaceCombination)
)

// Limits of the texts, in bytes. An engine holds back so much of a response as may be the beginning of a text.
const (
	searchBytesMost      = 1024
	replacementBytesMost = 16384
	pairsBytesMost       = 192 << 10

	// matchBytesMost is the longest match of an expression: WINDOW_BYTES of engines.
	matchBytesMost = 4096
)

// TypesRef refers to the types of content that are rewritten. Objects from before engines rewrote may have no defaults.
func (p *ContentRewriteProfile) TypesRef() string {
	if p.ContentRef == "" {
		return schema.RefPath("stringgroup", schema.BuiltinUUID("stringgroup", "System-Rewritable-Content-Types"))
	}
	return p.ContentRef
}

// IsLiteral tells whether the text stands in responses as it is.
func (t SearchText) IsLiteral() bool { return t.Type == searchLiteral || t.Type == "" }

// IsLiteral tells whether the text is written as it is.
func (t *ReplaceText) IsLiteral() bool { return t == nil || t.Type == replaceLiteral || t.Type == "" }

// Text returns what is written.
func (t *ReplaceText) Text() string {
	if t == nil {
		return ""
	}
	return t.Value
}

// check refuses texts that engines could not replace.
func (p *ContentRewriteProfile) check(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	for i := range p.Rules {
		at, sum := fmt.Sprintf("%s.rsp_rewrite_rules[%d].pairs", field, i), 0
		for j, pair := range p.Rules[i].Pairs {
			if problem := checkPair(p.Rules[i].Pairs, j, at); problem != nil {
				return problem
			}
			sum += len(pair.Search.Value) + len(pair.Replacement.Text())
		}
		if sum > pairsBytesMost {
			return refuse(at, "have %d bytes of text together: give at most %d", sum, pairsBytesMost)
		}
	}
	return nil
}

func checkPair(pairs []SearchReplacePair, at int, field string) *schema.FieldError {
	pair, field := &pairs[at], fmt.Sprintf("%s[%d].", field, at)
	search, replacement := len(pair.Search.Value), len(pair.Replacement.Text())
	switch {
	case search > searchBytesMost:
		return refuse(field+"search_string.val", "has %d bytes: give at most %d", search, searchBytesMost)
	case replacement > replacementBytesMost:
		return refuse(field+"replacement_string.val", "has %d bytes: give at most %d", replacement,
			replacementBytesMost)
	}
	earlier := slices.IndexFunc(pairs[:at], func(earlier SearchReplacePair) bool {
		return earlier.Search == pair.Search
	})
	if earlier >= 0 {
		return refuse(field+"search_string.val", "is that of pairs[%d] already", earlier)
	}
	return nil
}

// Pairs returns the pairs of the rule that acts, and the rule's place. Without such a rule there are none.
func (p *ContentRewriteProfile) Pairs() (pairs []SearchReplacePair, rule int) {
	for i := range p.Rules {
		if p.Rules[i].Enabled {
			return p.Rules[i].Pairs, i
		}
	}
	return nil, 0
}

// Sleeps tells whether there are pairs, and no rule with them acts.
func (p *ContentRewriteProfile) Sleeps() bool {
	pairs, _ := p.Pairs()
	return len(pairs) == 0 && slices.ContainsFunc(p.Rules, func(rule ContentRewriteRule) bool {
		return !rule.Enabled && len(rule.Pairs) > 0
	})
}
