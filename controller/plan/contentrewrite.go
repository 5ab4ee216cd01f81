package plan

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const ofRewrite = "content_rewrite"

// variableSearchesMost bounds the pairs that search for a variable: engines prepare these texts for each response.
const variableSearchesMost = 8

// contentRewrite converts what is rewritten. nil: engines rewrite nothing.
func contentRewrite(subject subject, vs *model.VirtualService, report *report) *dataplanev1.ContentRewrite {
	from := vs.ContentRewrite
	if from == nil {
		return nil
	}
	pairs, rule := from.Pairs()
	reader := pairReader{subject: subject, service: vs.Name, report: report}
	to := &dataplanev1.ContentRewrite{ContentTypes: keys(vs.Content, from.TypesRef())}
	for i := range pairs {
		reader.at = fmt.Sprintf("%s.rsp_rewrite_rules[%d].pairs[%d].", ofRewrite, rule, i)
		if pair := reader.pair(&pairs[i]); pair != nil {
			pair.Number = uint32(i)
			to.Pairs = append(to.Pairs, pair)
		}
	}
	if len(to.GetPairs()) == 0 {
		return nil
	}
	if vs.Content.StringGroups[from.TypesRef()] == nil {
		report.blocked = true // model has a finding about that
	}
	if size := proto.Size(to); size > contentBytesMost {
		report.block(subject, ofRewrite, "has %d bytes with the group that it names: give at most %d", size,
			contentBytesMost)
	}
	return to
}

// pairReader converts the pairs of one virtual service.
type pairReader struct {
	subject subject
	service string // its name
	report  *report

	at          string   // the field of the pair
	expressions []string // so far
	read        kinds.Expressions
	variables   int // that pairs search for, so far
}

// pair returns nil for one without effect, and reports why.
func (r *pairReader) pair(from *kinds.SearchReplacePair) *dataplanev1.Replacement {
	const search, replacement = "search_string", "replacement_string"
	to, groups := &dataplanev1.Replacement{}, -1
	switch value := from.Search.Value; {
	case value == "":
		return r.idle(search+".val", "is empty")
	case from.Search.IsLiteral():
		to.Search = value
	case from.Search.Type == kinds.SearchExpression:
		var err error
		if groups, err = r.expression(value); err != nil {
			return r.idle(search+".val", err.Error())
		}
		to.Search, to.IsExpression = value, true
	case from.Search.Type == kinds.SearchVariable:
		part := r.variable(kinds.VariableName(value))
		switch variable := part.GetVariable(); {
		case part == nil:
			return r.idle(search+".val", fmt.Sprintf("engines know no variable %q", value))
		case variable == nil:
			to.Search = part.GetText()
		case r.variables == variableSearchesMost:
			return r.idle(search+".val", fmt.Sprintf("at most %d pairs can search for variables", variableSearchesMost))
		default:
			r.variables++
			to.SearchVariable = variable
		}
	default:
		return r.idle(search+".type", "engines do not search for what scripts set")
	}
	switch by := from.Replacement; {
	case by.IsLiteral():
		to.Replacement = by.Text()
		return forOlder(to, from)
	case by.Type == kinds.ReplaceVariable:
		to.Parts = r.parts([]kinds.TemplatePart{{Name: kinds.VariableName(by.Value)}}, groups)
	case by.Type == kinds.ReplaceCombination:
		to.Parts = r.parts(kinds.Template(by.Value), groups)
	default:
		return r.idle(replacement+".type", "engines do not write what scripts set")
	}
	if to.GetParts() == nil && from.Replacement.Value != "" {
		return nil
	}
	return forOlder(to, from)
}

// forOlder has engines that know texts alone replace a text by itself, where there is more than texts.
func forOlder(to *dataplanev1.Replacement, from *kinds.SearchReplacePair) *dataplanev1.Replacement {
	if !to.GetIsExpression() && to.GetSearchVariable() == nil && to.GetParts() == nil {
		return to
	}
	if to.GetParts() == nil {
		to.Parts = []*dataplanev1.ReplacementPart{textPart(to.GetReplacement())}
	}
	if to.GetSearch() == "" {
		to.Search = from.Search.Value
	}
	to.Replacement = to.GetSearch()
	return to
}

// idle reports why a pair has no effect.
func (r *pairReader) idle(field, why string) *dataplanev1.Replacement {
	r.report.warn(r.subject, r.at+field, "%s: the pair has no effect", why)
	return nil
}

// expression returns how many groups an expression has.
func (r *pairReader) expression(text string) (groups int, _ error) {
	groups, err := kinds.SearchedExpression(text)
	if err != nil {
		return 0, err
	}
	r.expressions = append(r.expressions, text)
	if _, err := r.read.Check(r.expressions); err != nil {
		r.expressions = r.expressions[:len(r.expressions)-1]
		return 0, err
	}
	return groups, nil
}

// parts converts what is written. groups: those of the expression; negative: the pair searches for none. nil: the pair
// has no effect, or nothing is written.
func (r *pairReader) parts(from []kinds.TemplatePart, groups int) (parts []*dataplanev1.ReplacementPart) {
	const field = "replacement_string.val"
	for _, part := range from {
		group, isGroup := part.Group()
		switch {
		case part.Name == "":
			parts = append(parts, textPart(part.Text))
		case isGroup && groups < 0:
			r.idle(field, fmt.Sprintf("$%s stands for a group of an expression, and the pair searches for none",
				part.Name))
			return nil
		case isGroup && group > groups:
			r.idle(field, fmt.Sprintf("$%s stands for a group, and the expression has %d", part.Name, groups))
			return nil
		case isGroup:
			parts = append(parts, &dataplanev1.ReplacementPart{
				Part: &dataplanev1.ReplacementPart_Group{Group: uint32(group)},
			})
		default:
			variable := r.variable(part.Name)
			if variable == nil {
				r.idle(field, fmt.Sprintf("engines know no variable $%s", part.Name))
				return nil
			}
			parts = append(parts, variable)
		}
	}
	return parts
}

// variable returns what a variable stands for; nil: engines know none of this name.
func (r *pairReader) variable(name string) *dataplanev1.ReplacementPart {
	if name == kinds.VariableOfServiceName {
		return textPart(r.service)
	}
	value := &dataplanev1.HeaderValue{}
	if value.Field = kinds.FieldOfVariable(name); value.GetField() != "" {
		value.Variable = dataplanev1.HeaderVariable_HEADER_VARIABLE_FIELD
	} else if value.Variable = headerVariables[kinds.PolicyVariable(name)]; value.GetVariable() == 0 ||
		value.GetVariable() == dataplanev1.HeaderVariable_HEADER_VARIABLE_FIELD {
		return nil
	}
	return &dataplanev1.ReplacementPart{Part: &dataplanev1.ReplacementPart_Variable{Variable: value}}
}

func textPart(text string) *dataplanev1.ReplacementPart {
	return &dataplanev1.ReplacementPart{Part: &dataplanev1.ReplacementPart_Text{Text: text}}
}
