package metrics

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/metrics/madeup"
	"github.com/weir-lb/weir/controller/metrics/retention"
)

func TestAMadeUpHistoryIsAsLongAsItIsToldAndHasTheSeriesOfBefore(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(0))
	s.pass(20, func(n int) { s.report("se-one", 7, requested(uint64(150*(n+1)))) })
	before := s.tiers.of[0].Head().NumSeries()
	s.end()
	made, err := madeup.Replace(t.Context(), s.dir, 2*day, s.Now, s.Now)
	s.must(err)
	if made.Series == 0 || made.Series != int(before) {
		t.Errorf("made %d series of %d", made.Series, before)
	}
	s.begin()
	const steps, anHour = 2 * day / retention.CollectEvery, float64(time.Hour / retention.CollectEvery)
	// Long queries read a coarse tier, and the last step of it from the finest.
	s.wantQuery(`count_over_time(weir_service_requests_total[3d])`, 2*24*12+anHour/12+1)
	s.wantQuery(`increase(weir_service_requests_total[1h] offset 30h)`, 3000*anHour)
	s.wantQuery(`weir_service_requests_total`, 3000*float64(steps))
	if blocks := len(s.tiers.of[0].Blocks()); blocks < 2 {
		t.Errorf("the finest tier has %d blocks", blocks)
	}
	s.report("se-one", 7, requested(3000))
	s.pass(2, func(n int) { s.report("se-one", 7, requested(uint64(3000+150*(n+1)))) })
	s.wantQuery(`count_over_time(weir_service_requests_total[29s])`, 6)
	if newest := s.tiers.of[0].Head().MaxTime(); newest != s.Now.UnixMilli() {
		t.Errorf("the newest sample is of %v, and not of now", time.UnixMilli(newest))
	}
}
