package plan

import (
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// errorPageBytesMost limits the pages of a profile with their bodies, because the Plan of an engine is limited. Each
// page has a copy of its body.
const errorPageBytesMost = 1 << 20

// addErrorPages adds the error pages of a virtual service. Without a page that is missing, clients get the engine's.
func (d *draft) addErrorPages() {
	from := d.vs.ErrorPages
	switch {
	case from == nil:
		return
	case d.vs.HTTP == nil:
		d.report.warn(d.subject, "error_page_profile_ref", "layer 4 has no pages: has no effect")
		return
	}
	to := &dataplanev1.ErrorPageProfile{Uuid: from.UUID, Name: from.Name}
	for _, placed := range from.InForce() {
		page := &dataplanev1.ErrorPage{
			Position: uint32(placed.At), Status: statusMatch(placed.Rule.Match), Location: placed.Rule.Redirect,
		}
		if body := from.Bodies[placed.Rule.BodyRef]; body != nil {
			page.ContentType, page.Content = body.ContentType(), []byte(body.Body)
		} else if placed.Rule.Redirect == "" {
			continue // model has a finding about that
		}
		to.Pages = append(to.Pages, page)
	}
	if size := proto.Size(to); size > errorPageBytesMost {
		d.report.block(d.subject, "error_page_profile_ref",
			"the pages of errorpageprofile %s with their bodies have %d bytes: give at most %d", from.Name, size,
			errorPageBytesMost)
		return
	}
	d.service.ErrorPageProfileUuid = from.UUID
	body := &enginev1.Resource_ErrorPageProfile{ErrorPageProfile: to}
	d.parts = append(d.parts, partOf(&enginev1.Resource{Uuid: from.UUID, Body: body}))
}

// statusMatch returns nil for a match that is not there.
func statusMatch(from *kinds.HTTPStatusMatch) *dataplanev1.NumberMatch {
	if from == nil {
		return nil
	}
	to := &dataplanev1.NumberMatch{Negated: isNegated(from.Criteria)}
	for _, code := range from.Codes {
		to.Ranges = append(to.Ranges, &dataplanev1.NumberRange{First: code, Last: code})
	}
	for _, span := range from.Ranges {
		to.Ranges = append(to.Ranges, &dataplanev1.NumberRange{First: span.Begin, Last: span.End})
	}
	return to
}
