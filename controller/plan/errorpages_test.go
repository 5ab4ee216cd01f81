package plan

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestErrorPagesOfMoreThanAMebibyteKeepTheirServiceOutOfThePlan(t *testing.T) {
	const (
		body  = `errorpagebody { "name": "long", "error_page_body": "%s" }` + "\n\n"
		page  = `{"index": %d, "error_page_body_ref": "/api/errorpagebody?name=long"}`
		house = `errorpageprofile { "name": "house", "error_pages": [%s] }` + "\n\n"
		shop  = `virtualservice { "name": "shop", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}],
  "services": [{"port": 80}], "error_page_profile_ref": "/api/errorpageprofile?name=house" }` + "\n"
	)
	want := regexp.MustCompile(`^the pages of errorpageprofile house with their bodies have 10\d{5} bytes: ` +
		`give at most 1048576$`)
	for pages, served := range map[int]bool{15: true, 16: false} {
		var list []string
		for i := range pages {
			list = append(list, fmt.Sprintf(page, i))
		}
		plan, findings := compileText(t, fmt.Sprintf(body, strings.Repeat("x", 64<<10))+
			fmt.Sprintf(house, strings.Join(list, ", "))+shop)
		if inPlan := len(plan.GetResources()) > 0; inPlan != served {
			t.Errorf("%d pages: served is %t", pages, inPlan)
		}
		switch {
		case served && len(findings) == 0:
		case !served && len(findings) == 1 && findings[0].Name == "shop" &&
			findings[0].Field == "error_page_profile_ref" && want.MatchString(findings[0].Message):
		default:
			t.Errorf("%d pages: found %v", pages, findings)
		}
	}
}
