package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// They are written by anybody who may write a virtual service, and the Plans of all others wait.
func TestExpressionsThatAreTooLargeCostNoTime(t *testing.T) {
	var pairs []kinds.SearchReplacePair
	for i := range 128 {
		pairs = append(pairs, kinds.SearchReplacePair{Search: kinds.SearchText{
			Type: kinds.SearchExpression, Value: fmt.Sprintf("a%d", i) + strings.Repeat(".{0,999}", 120)}})
	}
	vs := &model.VirtualService{Content: &model.Content{}}
	vs.ContentRewrite = &kinds.ContentRewriteProfile{Rules: []kinds.ContentRewriteRule{{Enabled: true, Pairs: pairs}}}
	began, found := time.Now(), report{}
	contentRewrite(subject{}, vs, &found)
	if took := time.Since(began); took > 5*time.Second { // it took half a minute
		t.Errorf("it took %v", took)
	}
	if len(found.findings) != len(pairs) || !strings.Contains(found.findings[0].Message, "no memory") {
		t.Errorf("got %v", found.findings)
	}
}
