package plan

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

const ofRewrite = "content_rewrite"

// contentRewrite converts what is rewritten. nil: engines rewrite nothing.
func contentRewrite(subject subject, vs *model.VirtualService, report *report) *dataplanev1.ContentRewrite {
	from := vs.ContentRewrite
	if from == nil {
		return nil
	}
	to := &dataplanev1.ContentRewrite{ContentTypes: keys(vs.Content, from.TypesRef())}
	pairs, rule := from.Pairs()
	for i, pair := range pairs {
		at := fmt.Sprintf("%s.rsp_rewrite_rules[%d].pairs[%d].", ofRewrite, rule, i)
		switch {
		case !pair.Search.IsLiteral():
			report.warn(subject, at+"search_string.type", "engines do not search for %s yet: the pair has no effect",
				pair.Search.Type)
		case !pair.Replacement.IsLiteral():
			report.warn(subject, at+"replacement_string.type", "engines do not write %s yet: the pair has no effect",
				pair.Replacement.Type)
		case pair.Search.Value == "":
			report.warn(subject, at+"search_string.val", "is empty: the pair has no effect")
		default:
			to.Pairs = append(to.Pairs, &dataplanev1.Replacement{
				Search: pair.Search.Value, Replacement: pair.Replacement.Text(),
			})
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
