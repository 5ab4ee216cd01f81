// Package habit learns how a metric usually is, and says when it is not: over an hour (short.go), and over days
// (season.go). judge.go puts both together. It does no I/O and reads no clock.
package habit

import "math"

const (
	// hour is the number of points, one a minute, that a short habit is made of.
	hour = 60
	// learned is the number of points from which on a short habit says anything.
	learned = 30
	// wide is how many deviations from the mean are still usual.
	wide = 4
)

// Short is the mean and the variance of the last hour, weighted exponentially. The zero value has seen nothing.
type Short struct {
	mean, variance float64
	seen           int
}

// learn takes a point.
func (s *Short) learn(value float64) {
	weight := 2.0 / (hour + 1)
	if s.seen++; s.seen < hour { // until there is an hour, all points count the same
		weight = max(weight, 1/float64(s.seen))
	}
	off := value - s.mean
	s.mean += weight * off
	s.variance = (1 - weight) * (s.variance + weight*off*off)
}

// band is what is usual now; known is false while too little was seen.
func (s *Short) band() (b Band, known bool) {
	return Band{s.mean, deviation(math.Sqrt(s.variance), s.mean)}, s.seen >= learned
}

// Band is what is usual: the mean, and a deviation.
type Band struct{ Mean, Deviation float64 }

// Low and High are the ends of what is usual.
func (b Band) Low() float64 { return max(0, b.Mean-wide*b.Deviation) }

// High is the upper end.
func (b Band) High() float64 { return b.Mean + wide*b.Deviation }

// off is how many deviations a value is from the mean.
func (b Band) off(value float64) float64 { return (value - b.Mean) / b.Deviation }

// deviation is at least 3 % of the mean: what is steadier than that is not unusual for moving by a little.
func deviation(measured, mean float64) float64 { return max(measured, 0.03*math.Abs(mean), 1e-9) }
