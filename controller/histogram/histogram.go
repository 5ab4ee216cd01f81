// Package histogram adds up the histograms of times that engines send, and answers means and quantiles of the sum. The
// buckets are those of Histogram in api/dataplane/v1, so adding loses nothing: neither over engines nor over time.
package histogram

import (
	"math"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

const (
	buckets        = 210
	octave         = 8 // buckets in which times double
	coarseBuckets  = 54
	coarseOctave   = 2
	ticksPerSecond = 1 << 20
	longest        = 64 * time.Second // the last bucket has the times beyond
)

// Histogram is a sum of histograms. The zero value is empty.
type Histogram struct {
	sumTicks uint64
	counts   [buckets]uint64
}

// Add adds what was counted between two states of a cumulative histogram. A state that is nil has counted nothing.
// now has to continue then, see Continues.
func (h *Histogram) Add(now, then *dataplanev1.Histogram) {
	h.sumTicks += now.GetSumTicks() - then.GetSumTicks()
	grow(h.counts[:], now, then)
}

// grow adds the difference of two states to counts. Buckets that an engine has beyond them are longer than the last.
func grow(counts []uint64, now, then *dataplanev1.Histogram) {
	for bucket, end := used(now, then); bucket < end; bucket++ {
		counts[min(bucket, len(counts)-1)] += uint64(countIn(now, bucket) - countIn(then, bucket))
	}
}

// Join adds another sum.
func (h *Histogram) Join(other *Histogram) {
	h.sumTicks += other.sumTicks
	for bucket, times := range other.counts {
		h.counts[bucket] += times
	}
}

// Continues tells whether a cumulative histogram can have grown from then to now. If not, it has begun again at zero.
// A count may pass 2^32, so it is taken to have fallen only if it would otherwise have grown by 2^31 or more.
func Continues(now, then *dataplanev1.Histogram) bool {
	for bucket, end := used(now, then); bucket < end; bucket++ {
		if countIn(now, bucket)-countIn(then, bucket) > math.MaxInt32 {
			return false
		}
	}
	return now.GetSumTicks() >= then.GetSumTicks()
}

// used returns the first bucket that one of two states uses, and the one after the last.
func used(now, then *dataplanev1.Histogram) (first, end int) {
	first, end = buckets, 0
	for _, state := range []*dataplanev1.Histogram{now, then} {
		if count := len(state.GetCounts()); count > 0 {
			first = min(first, int(state.GetFirst()))
			end = max(end, int(state.GetFirst())+count)
		}
	}
	return first, min(end, buckets)
}

func countIn(cumulative *dataplanev1.Histogram, bucket int) uint32 {
	counts, at := cumulative.GetCounts(), bucket-int(cumulative.GetFirst())
	if at < 0 || at >= len(counts) {
		return 0
	}
	return counts[at]
}

// Count returns the number of times.
func (h *Histogram) Count() uint64 { return total(h.counts[:]) }

func total(counts []uint64) (count uint64) {
	for _, times := range counts {
		count += times
	}
	return count
}

// Mean returns the arithmetic mean; 0: there are no times.
func (h *Histogram) Mean() time.Duration { return mean(h.sumTicks, h.Count()) }

func mean(sumTicks, count uint64) time.Duration {
	if count == 0 {
		return 0
	}
	return duration(float64(sumTicks) / float64(count))
}

// Quantile returns a time that a share q of all times does not exceed; 0: there are no times. It is the middle of the
// bucket of the time with that rank, so it is wrong by a factor of 2^(1/16) at most, which is 4.4 %. Two kinds of times
// are exempt: for at most 1 tick Quantile returns half a tick, and for more than 64 s it returns 64 s.
func (h *Histogram) Quantile(q float64) time.Duration { return quantile(h.counts[:], q, octave) }

// AtMost returns how many times do not exceed a limit. Within the bucket of the limit it takes the logarithms of times
// to be spread evenly, so it is wrong by a part of the times in that one bucket, which is 9 % wide.
func (h *Histogram) AtMost(limit time.Duration) float64 { return atMost(h.counts[:], limit, octave) }

func atMost(counts []uint64, limit time.Duration, octave float64) float64 {
	if limit <= 0 {
		return 0
	}
	// bucket i ends at octave·log2(ticks) = i
	end := octave * math.Log2(limit.Seconds()*ticksPerSecond)
	count := 0.0
	for bucket, times := range counts[:len(counts)-1] {
		switch first := float64(bucket - 1); {
		case bucket == 0 && end >= 0, float64(bucket) <= end:
			count += float64(times)
		case bucket > 0 && first < end:
			count += float64(times) * (end - first)
		}
	}
	if limit > longest { // nothing is known of the times in the last bucket but that they are longer than that
		count += float64(counts[len(counts)-1])
	}
	return count
}

func quantile(counts []uint64, q, octave float64) time.Duration {
	count := total(counts)
	if count == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(q*float64(count))))
	for bucket, times := range counts {
		if rank <= times {
			return middle(bucket, octave, len(counts))
		}
		rank -= times
	}
	return longest
}

// middle returns the geometric mean of the bounds of a bucket. Times double in octave buckets.
func middle(bucket int, octave float64, buckets int) time.Duration {
	switch bucket {
	case 0:
		return duration(0.5)
	case buckets - 1:
		return longest
	default:
		return duration(math.Exp2((float64(bucket) - 0.5) / octave))
	}
}

// Coarse is a sum of histograms of scale 1, which servers have. The zero value is empty.
type Coarse struct {
	sumTicks uint64
	counts   [coarseBuckets]uint64
}

// Add is as that of Histogram.
func (c *Coarse) Add(now, then *dataplanev1.Histogram) {
	c.sumTicks += now.GetSumTicks() - then.GetSumTicks()
	grow(c.counts[:], now, then)
}

// Count returns the number of times.
func (c *Coarse) Count() uint64 { return total(c.counts[:]) }

// Seconds returns the sum of all times.
func (c *Coarse) Seconds() float64 { return float64(c.sumTicks) / ticksPerSecond }

// Mean returns the arithmetic mean; 0: there are no times.
func (c *Coarse) Mean() time.Duration { return mean(c.sumTicks, c.Count()) }

// Quantile is as that of Histogram, and wrong by a factor of 2^(1/4) at most, which is 19 %.
func (c *Coarse) Quantile(q float64) time.Duration { return quantile(c.counts[:], q, coarseOctave) }

// AtMost is as that of Histogram; the one bucket is 41 % wide.
func (c *Coarse) AtMost(limit time.Duration) float64 { return atMost(c.counts[:], limit, coarseOctave) }

func duration(ticks float64) time.Duration {
	return time.Duration(ticks / ticksPerSecond * float64(time.Second))
}
