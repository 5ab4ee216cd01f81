package place

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

func TestTheLaterShunOfVirtualServicesThatComeTogetherCounts(t *testing.T) {
	now := time.Now()
	past, ahead := Shun{Engine: "e", Until: now.Add(-time.Hour), Outages: 3},
		Shun{Engine: "e", Until: now.Add(time.Hour)}
	for _, of := range [][2]Shun{{past, ahead}, {ahead, past}} {
		before := Assignments{{VirtualService: "a", Shunned: of[:1]}, {VirtualService: "b", Shunned: of[1:]}}
		all := []*model.VirtualService{{}, {}}
		all[0].UUID, all[1].UUID = "a", "b"
		found := merged(all, before).Shunned
		if len(found) != 1 || !found[0].Until.Equal(ahead.Until) || found[0].Outages != 3 {
			t.Errorf("of %v: %v", of, found)
		}
	}
}
