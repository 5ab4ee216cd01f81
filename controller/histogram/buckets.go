package histogram

import "iter"

// Above is the bucket with the times above all bounds.
const Above = buckets - 1

// Buckets returns the buckets that have times, in order, with the number of times. The times of bucket 0 are at most
// 2^-20 s, those of bucket i at most 2^(i/8-20) s.
func (h *Histogram) Buckets() iter.Seq2[int, uint64] { return filled(h.counts[:]) }

// Buckets is as that of Histogram. The times of bucket i are at most 2^(i/2-20) s.
func (c *Coarse) Buckets() iter.Seq2[int, uint64] { return filled(c.counts[:]) }

func filled(counts []uint64) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for bucket, times := range counts {
			if times > 0 && !yield(bucket, times) {
				return
			}
		}
	}
}

// Seconds returns the sum of all times.
func (h *Histogram) Seconds() float64 { return float64(h.sumTicks) / ticksPerSecond }
