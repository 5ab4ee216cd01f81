package histogram

import (
	"math"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func TestQuantileOfACoarseHistogramIsWrongBy19PercentAtMost(t *testing.T) {
	for ticks := uint64(2); ticks <= 1<<26; ticks += 1 + ticks/7 {
		bucket := uint32(math.Ceil(2 * math.Log2(float64(ticks))))
		counted := &dataplanev1.Histogram{SumTicks: 3 * ticks, First: bucket, Counts: []uint32{3}}
		var sum Coarse
		sum.Add(counted, nil)
		is := time.Duration(float64(ticks) / ticksPerSecond * float64(time.Second))
		if off := float64(sum.Quantile(0.5)) / float64(is); off < 1/1.19 || off > 1.19 {
			t.Fatalf("%v: got %v", is, sum.Quantile(0.5))
		}
		if mean := sum.Mean(); mean < is-time.Microsecond || mean > is+time.Microsecond {
			t.Fatalf("%v: the mean is %v", is, mean)
		}
	}
}

func TestCoarseHistogramHas54Buckets(t *testing.T) {
	var sum Coarse
	sum.Add(&dataplanev1.Histogram{First: 0, Counts: []uint32{1}}, nil)
	sum.Add(&dataplanev1.Histogram{First: 53, Counts: []uint32{5}},
		&dataplanev1.Histogram{First: 53, Counts: []uint32{4}})
	if sum.Count() != 2 || sum.Quantile(0.5) != duration(0.5) || sum.Quantile(1) != 64*time.Second {
		t.Errorf("got %d times, %v and %v", sum.Count(), sum.Quantile(0.5), sum.Quantile(1))
	}
}
