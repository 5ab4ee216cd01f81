package histogram

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Shares of requests below a limit decide the Apdex of a virtual service. They must be right to a percent for any
// limit, and whatever the times are spread like.
func TestShareBelowALimitIsRightToAPercent(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		centre, width := math.Exp(random.Float64()*8-9), 0.1+random.Float64()*1.5 // 0.1 ms to 0.4 s
		limit := time.Duration(centre * math.Exp(random.NormFloat64()*width) * float64(time.Second))
		times, below := make([]uint64, 20_000), 0
		for i := range times {
			seconds := centre * math.Exp(random.NormFloat64()*width)
			times[i] = uint64(max(1, seconds*ticksPerSecond))
			if float64(times[i])/ticksPerSecond <= limit.Seconds() {
				below++
			}
		}
		var sum Histogram
		sum.Add(counted(times...), nil)
		got, want := sum.AtMost(limit)/float64(len(times)), float64(below)/float64(len(times))
		if math.Abs(got-want) > 0.01 {
			t.Errorf("seed %d: of times around %.4f s, %.4f are within %v, got %.4f", seed, centre, want, limit, got)
		}
	}
}

func TestBoundsOfBucketsAreExact(t *testing.T) {
	var sum Histogram
	sum.Add(&dataplanev1.Histogram{First: 0, Counts: []uint32{3}}, nil)
	sum.Add(&dataplanev1.Histogram{First: 160, Counts: []uint32{5, 0, 0, 0, 0, 0, 0, 0, 7}}, nil)
	sum.Add(&dataplanev1.Histogram{First: buckets - 1, Counts: []uint32{2}}, nil)
	for _, c := range []struct {
		limit time.Duration
		want  float64
	}{
		{0, 0}, {time.Microsecond, 3}, {time.Second, 8}, {2 * time.Second, 15}, {64 * time.Second, 15},
		{65 * time.Second, 17},
	} {
		if got := sum.AtMost(c.limit); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v: got %v, want %v", c.limit, got, c.want)
		}
	}
	var coarse Coarse
	coarse.Add(&dataplanev1.Histogram{First: 40, Counts: []uint32{4, 0, 8}}, nil) // up to 1 s, and up to 2 s
	if got := coarse.AtMost(time.Second); math.Abs(got-4) > 1e-6 {
		t.Errorf("coarse: %v are within a second", got)
	}
	if got := coarse.AtMost(2 * time.Second); math.Abs(got-12) > 1e-6 {
		t.Errorf("coarse: %v are within two seconds", got)
	}
}
