package plan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// They are written by anybody who may write a virtual service, and the Plans of all others wait.
func TestExpressionsThatAreTooLargeAreNotWrittenOut(t *testing.T) {
	var pairs []kinds.SearchReplacePair
	for i := range 128 {
		pairs = append(pairs, kinds.SearchReplacePair{Search: kinds.SearchText{
			Type: kinds.SearchExpression, Value: fmt.Sprintf("a%d", i) + strings.Repeat(".{0,999}", 120)}})
	}
	vs := &model.VirtualService{Content: &model.Content{}}
	vs.ContentRewrite = &kinds.ContentRewriteProfile{Rules: []kinds.ContentRewriteRule{{Enabled: true, Pairs: pairs}}}
	var before, after runtime.MemStats
	var found report
	runtime.ReadMemStats(&before)
	contentRewrite(subject{}, vs, &found)
	runtime.ReadMemStats(&after)
	// Written out, they take 20,000 MiB. The race detector has sync.Pool forget, and so expressions take 2,500.
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 8000 {
		t.Errorf("it took %d MiB", took)
	}
	if len(found.findings) != len(pairs) || !strings.Contains(found.findings[0].Message, "no memory") {
		t.Errorf("got %v", found.findings)
	}
}
