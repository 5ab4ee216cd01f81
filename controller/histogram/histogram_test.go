package histogram

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// bucketOf follows the comment on Histogram in api/dataplane/v1.
func bucketOf(ticks uint64) int {
	if ticks <= 1 {
		return 0
	}
	return min(int(math.Ceil(8*math.Log2(float64(ticks)))), buckets-1)
}

// counted returns what a data plane sends that has counted times, given in ticks.
func counted(times ...uint64) *dataplanev1.Histogram {
	var counts [buckets]uint32
	sent, end := &dataplanev1.Histogram{First: buckets}, 0
	for _, ticks := range times {
		bucket := bucketOf(ticks)
		counts[bucket]++
		sent.SumTicks += ticks
		sent.First, end = min(sent.First, uint32(bucket)), max(end, bucket+1)
	}
	if len(times) == 0 {
		return &dataplanev1.Histogram{}
	}
	sent.Counts = counts[sent.First:end]
	return sent
}

// of returns the sum of histograms that began at zero.
func of(all ...*dataplanev1.Histogram) *Histogram {
	sum := &Histogram{}
	for _, cumulative := range all {
		sum.Add(cumulative, nil)
	}
	return sum
}

func TestAddsWhatWasCountedBetweenTwoStates(t *testing.T) {
	const tick, second = 1, 1 << 20
	for what, c := range map[string]struct {
		now, then *dataplanev1.Histogram
		want      *Histogram
	}{
		"nothing":                  {nil, nil, &Histogram{}},
		"the first times":          {counted(tick, second), nil, of(counted(tick, second))},
		"no more times":            {counted(tick, second), counted(tick, second), &Histogram{}},
		"another bucket below":     {counted(tick, second), counted(second), of(counted(tick))},
		"another bucket above":     {counted(tick, second), counted(tick), of(counted(second))},
		"more times in one bucket": {counted(second, second, second), counted(second), of(counted(second, second))},
		"a count that began again": {
			&dataplanev1.Histogram{SumTicks: 1 << 33, First: 8, Counts: []uint32{5}},
			&dataplanev1.Histogram{SumTicks: 1<<33 - 16, First: 8, Counts: []uint32{math.MaxUint32 - 2}},
			of(counted(2, 2, 2, 2, 2, 2, 2, 2)),
		},
		"a count that began again and is 0": {
			&dataplanev1.Histogram{SumTicks: 1<<33 + 1, First: 0, Counts: []uint32{1}},
			&dataplanev1.Histogram{SumTicks: 1<<33 - 2, First: 8, Counts: []uint32{math.MaxUint32}},
			of(counted(1, 2)),
		},
		"buckets beyond the last": {
			&dataplanev1.Histogram{First: buckets - 1, Counts: []uint32{1, 2, 3}}, nil,
			of(&dataplanev1.Histogram{First: buckets - 1, Counts: []uint32{1}}),
		},
	} {
		var got Histogram
		got.Add(c.now, c.then)
		if got != *c.want {
			t.Errorf("%s: got %s, want %s", what, described(&got), described(c.want))
		}
	}
}

func TestHistogramThatFellHasBegunAgain(t *testing.T) {
	for what, c := range map[string]struct {
		now, then *dataplanev1.Histogram
		want      bool
	}{
		"it begins":               {counted(5), nil, true},
		"it stays":                {counted(5), counted(5), true},
		"it grows":                {counted(5, 9, 70), counted(9, 5), true},
		"one bucket fell":         {counted(5, 9, 9, 9), counted(5, 5), false},
		"one bucket is gone":      {counted(9, 9, 9), counted(5), false},
		"the sum fell":            {counted(1000), counted(1024), false},
		"a count is beyond 2^32":  {bucket0(4), bucket0(math.MaxUint32), true},
		"a count fell by a tenth": {bucket0(9 << 20), bucket0(10 << 20), false},
	} {
		if got := Continues(c.now, c.then); got != c.want {
			t.Errorf("%s: continues: %v, want %v", what, got, c.want)
		}
	}
}

func bucket0(count uint32) *dataplanev1.Histogram {
	return &dataplanev1.Histogram{Counts: []uint32{count}}
}

func TestMeanAndQuantiles(t *testing.T) {
	const (
		whole, quarter = uint64(1 << 20), uint64(1 << 18) // of a second, in ticks
		second         = time.Second
		halfTick       = 477 * time.Nanosecond
		wholeMiddle    = time.Duration(957_603_281) // 2^(-1/16) s
		quarterMiddle  = wholeMiddle / 4
	)
	times := func(count int, ticks uint64) []uint64 { return slices.Repeat([]uint64{ticks}, count) }
	for what, c := range map[string]struct {
		times                []uint64
		mean, p50, p95, most time.Duration
	}{
		"no times":              {},
		"at most one tick":      {[]uint64{0, 1}, halfTick, halfTick, halfTick, halfTick},
		"a quarter of a second": {times(3, quarter), second / 4, quarterMiddle, quarterMiddle, quarterMiddle},
		"95 of 100 are short": {
			slices.Concat(times(95, quarter), times(5, whole)), 287_500_000, quarterMiddle, quarterMiddle, wholeMiddle,
		},
		"94 of 100 are short": {
			slices.Concat(times(94, quarter), times(6, whole)), 295_000_000, quarterMiddle, wholeMiddle, wholeMiddle,
		},
		"more than 64 s":    {times(3, 1024*whole), 1024 * second, longest, longest, longest},
		"64 s and one more": {[]uint64{64 * whole, 64*whole + 1}, longest, 64 * wholeMiddle, longest, longest},
	} {
		sum := of(counted(c.times...))
		if got := sum.Count(); got != uint64(len(c.times)) {
			t.Errorf("%s: %d times", what, got)
		}
		for name, pair := range map[string][2]time.Duration{
			"mean": {sum.Mean(), c.mean}, "median": {sum.Quantile(0.5), c.p50}, "95 %": {sum.Quantile(0.95), c.p95},
			"the longest": {sum.Quantile(1), c.most},
		} {
			if got, want := pair[0], pair[1]; (got - want).Abs() > time.Microsecond {
				t.Errorf("%s: %s is %v, want %v", what, name, got, want)
			}
		}
	}
}

// logNormal returns times around 5 ms, in ticks.
func logNormal(random *rand.Rand, count int, sigma float64) []uint64 {
	times := make([]uint64, count)
	for i := range times {
		times[i] = uint64(5 * ticksPerSecond / 1000 * math.Exp(sigma*random.NormFloat64()))
	}
	return times
}

func TestQuantilesAreWrongByLessThanHalfABucket(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		sigma := random.Float64() * 1.5 // from almost equal times to very different ones
		times := logNormal(random, 1+random.IntN(5000), sigma)
		sum := of(counted(times...))
		slices.Sort(times)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
			exact := times[max(1, int(math.Ceil(q*float64(len(times)))))-1]
			got, want := sum.Quantile(q), duration(float64(exact))
			if ratio := got.Seconds() / want.Seconds(); ratio < 1/1.045 || ratio > 1.045 {
				t.Errorf("seed %d: quantile %v of %d times is %v, and exactly %v", seed, q, len(times), got, want)
			}
		}
		var total float64
		for _, ticks := range times {
			total += float64(ticks)
		}
		if mean := duration(total / float64(len(times))); (sum.Mean() - mean).Abs() > time.Microsecond {
			t.Errorf("seed %d: mean is %v, want %v", seed, sum.Mean(), mean)
		}
	}
}

func TestAddingHistogramsEqualsCountingAllTimesInOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []uint64
	sum := &Histogram{}
	for range 20 {
		engine := logNormal(random, random.IntN(300), 2)
		seen := random.IntN(len(engine) + 1) // before the first of two samples
		sum.Add(counted(engine...), counted(engine[:seen]...))
		all = append(all, engine[seen:]...)
	}
	if want := of(counted(all...)); *sum != *want {
		t.Errorf("got %s, want %s", described(sum), described(want))
	}
}

func described(h *Histogram) string { return fmt.Sprintf("%d ticks, %v", h.sumTicks, h.counts) }

func TestJoinedSumsAreTheSumOfAll(t *testing.T) {
	state := func(first uint32, counts ...uint32) *dataplanev1.Histogram {
		return &dataplanev1.Histogram{SumTicks: 100, First: first, Counts: counts}
	}
	var one, other, both Histogram
	one.Add(state(10, 1, 2), nil)
	other.Add(state(5, 3, 0, 0, 0, 0, 4), state(8, 0, 0, 1))
	both.Add(state(10, 1, 2), nil)
	both.Add(state(5, 3, 0, 0, 0, 0, 4), state(8, 0, 0, 1))
	one.Join(&other)
	if one != both || one.Count() != 9 || one.Mean() != both.Mean() {
		t.Errorf("got %d times", one.Count())
	}
}
