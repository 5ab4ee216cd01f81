package kinds

import (
	"fmt"
	"net/url"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// ErrorPageProfile has pages in place of those of the engine. Virtual services refer to it.
type ErrorPageProfile struct {
	Identity
	Named
	Owned
	Markers []Marker    `json:"markers"`
	Pages   []ErrorPage `json:"error_pages" items:"256"`
}

// ErrorPage is what clients get for some statuses.
type ErrorPage struct {
	Index    uint32           `json:"index"`
	Enable   bool             `json:"enable" default:"true"`
	Match    *HTTPStatusMatch `json:"match"` // nil: each status from 400 on
	BodyRef  string           `json:"error_page_body_ref" ref:"errorpagebody"`
	Redirect string           `json:"error_redirect"` // instead of a body: a URL
}

func init() {
	schema.Register[ErrorPageProfile](schema.Definition{
		Private: true,
		Serving: schema.PartOfService,
		Columns: []column.Column{column.Of("PAGES", countOf("error_pages"))},
		Example: "  weir errorpageprofile create house error_pages[0].index=1 error_pages[0].error_page_body_ref=away " +
			"error_pages[0].match.match_criteria=IS_IN error_pages[0].match.status_codes[0]=503",
	})
}

// SwitchedOff tells whether a page is one that nobody gets.
func (*ErrorPage) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// InForce are the pages in force, in their order, with their places in the list.
func (p *ErrorPageProfile) InForce() []Placed[ErrorPage] {
	return inForce(p.Pages, func(page *ErrorPage) (bool, uint32) { return page.Enable, page.Index })
}

func (p *ErrorPageProfile) Validate() *schema.FieldError {
	first := map[uint32]int{}
	for i := range p.Pages {
		page, at := &p.Pages[i], fmt.Sprintf("error_pages[%d]", i)
		earlier, taken := first[page.Index]
		switch {
		case taken:
			return refuse(at+".index", "%d is the index of error_pages[%d] already: the order would be open",
				page.Index,
				earlier)
		case (page.BodyRef == "") == (page.Redirect == ""):
			return refuse(at, "give either error_page_body_ref or error_redirect")
		}
		first[page.Index] = i
		if problem := page.Match.check(at + ".match"); problem != nil {
			return problem
		}
		if to, err := url.Parse(page.Redirect); page.Redirect != "" &&
			(err != nil || to.Host == "" && to.Path == "" || checkFieldValue("", page.Redirect) != nil) {
			return refuse(at+".error_redirect", "%s is no URL", schema.Show(page.Redirect))
		}
	}
	return nil
}
