package metrics

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weir-lb/weir/controller/events"
)

func TestRenamingAnObjectAgainAndAgainFillsNoMemory(t *testing.T) {
	s := newStage(t)
	rename := func(n int) {
		s.VS.Name = fmt.Sprintf("name %d", n)
		s.Want(uint64(20+n), "vs-1", "pool-1")
		s.report("se-one", 1, requested(uint64(100*(n+1))))
	}
	s.pass(3, rename)
	begun := s.tiers.inMemory()
	s.history.collector.headMax = 2 * begun
	s.pass(40, func(n int) { rename(3 + n) })
	if now := s.tiers.inMemory(); now > 3*begun {
		t.Errorf("%d series in memory, of which there were %d after three names", now, begun)
	}
	told := func(entry events.Entry) bool { return entry.ID == "METRICS_LIMIT" }
	if !slices.ContainsFunc(s.Events.Entries(), told) {
		t.Error("no event tells of the limit")
	}
	s.history.collector.headMax = headMax // as if a block had been written
	s.pass(3, func(n int) { s.report("se-one", 1, requested(uint64(10_000+100*n))) })
	s.wantQuery(`sum(increase(weir_service_requests_total{service="name 42"}[30s] anchored))`, 200)
}
