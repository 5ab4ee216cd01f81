package place

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

func TestLoadIsTheCriterionThatIsHighestAndWhatEachServiceHasOfIt(t *testing.T) {
	start := time.Unix(1000, 0)
	then := Usage{At: start, Process: 1, Workers: 2, CPU: time.Second, Services: map[string]ServiceUsage{
		"shop": {Connections: 100, Requests: 1000, Bytes: 1e6, Open: 40},
	}}
	now := Usage{At: start.Add(10 * time.Second), Process: 1, Workers: 2, CPU: 6 * time.Second,
		Services: map[string]ServiceUsage{
			"shop": {Connections: 400, Requests: 1000, Bytes: 26e6, Open: 60},
			"blog": {Connections: 100, Bytes: 75e6}, // it was added between the two usages
		}}
	for _, c := range []struct {
		criteria []string
		capacity []uint32
		want     Load
	}{
		{nil, nil, Load{25, "CPU", nil}},
		{[]string{"SE_AUTO_REBALANCE_MBPS"}, []uint32{160}, Load{50, "throughput",
			map[string]float64{"shop": 12.5, "blog": 37.5}}},
		{[]string{"SE_AUTO_REBALANCE_OPEN_CONNS"}, []uint32{500},
			Load{10, "open connections", map[string]float64{"shop": 10}}},
		{[]string{"SE_AUTO_REBALANCE_CPU", "SE_AUTO_REBALANCE_CPS"}, []uint32{0, 50},
			Load{80, "new connections", map[string]float64{"shop": 60, "blog": 20}}},
	} {
		group := &model.Group{}
		group.AutoRebalanceCriteria, group.AutoRebalanceCapacity = c.criteria, c.capacity
		got, known := LoadBetween(group, then, now)
		if !known || got.Percent != c.want.Percent || got.Criterion != c.want.Criterion {
			t.Errorf("%v: got %+v, want %+v", c.criteria, got, c.want)
		}
		for service, want := range c.want.Services {
			if got.Services[service] != want {
				t.Errorf("%v: %s has %v, want %v", c.criteria, service, got.Services[service], want)
			}
		}
	}
}

func TestAnotherProcessCountsFromZeroAndHasNoLoadYet(t *testing.T) {
	then := Usage{At: time.Unix(1000, 0), Process: 1, Workers: 1}
	for _, now := range []Usage{{At: time.Unix(1010, 0), Process: 2, Workers: 1},
		{At: time.Unix(1000, 0), Process: 1, Workers: 1}} {
		if load, known := LoadBetween(&model.Group{}, then, now); known {
			t.Errorf("got %+v", load)
		}
	}
}
