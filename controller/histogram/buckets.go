package histogram

import "iter"

// Above is the bucket with the times above all bounds.
const Above = buckets - 1

// Buckets returns the buckets that have times, in order, with the number of times. The times of bucket 0 are at most
// 2^-20 s, those of bucket i at most 2^(i/8-20) s.
func (h *Histogram) Buckets() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for bucket, times := range h.counts {
			if times > 0 && !yield(bucket, times) {
				return
			}
		}
	}
}

// Seconds returns the sum of all times.
func (h *Histogram) Seconds() float64 { return float64(h.sumTicks) / ticksPerSecond }
