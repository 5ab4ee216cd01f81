package habit

import "math"

// A season is a day, in steps of five minutes.
const (
	StepMinutes = 5
	stepsInDay  = 24 * 60 / StepMinutes
)

// How fast the parts of a season follow (Holt-Winters, additive, without a trend: over a day it does more harm than
// good). The deviation of each time of day follows as in Brutlag, "Aberrant Behavior Detection in Time Series" (2000).
const (
	levelWeight  = 0.05
	seasonWeight = 0.3
)

// Season is the habit of a day. The zero value has seen nothing.
type Season struct {
	level     float64
	offsets   [stepsInDay]float32 // from the level, by time of day
	deviation [stepsInDay]float32
	seen      int
	mean      float64 // of the first day, while it lasts
}

// learn takes the point of a time of day.
func (s *Season) learn(step int, value float64) {
	if s.seen < stepsInDay { // of the first day
		s.seen++
		s.mean += (value - s.mean) / float64(s.seen)
		s.offsets[step] = float32(value)
		if s.seen == stepsInDay {
			s.begin()
		}
		return
	}
	s.seen++
	expected := s.level + float64(s.offsets[step])
	off := value - expected
	s.level += levelWeight * off
	s.offsets[step] = float32((1-seasonWeight)*float64(s.offsets[step]) + seasonWeight*(value-s.level))
	if off < 0 {
		off = -off
	}
	s.deviation[step] = float32((1-seasonWeight)*float64(s.deviation[step]) + seasonWeight*off)
}

// begin ends the first day. Its deviations are those between neighbours, until a second day shows better ones.
func (s *Season) begin() {
	s.level = s.mean
	for step := range s.offsets {
		next := s.offsets[(step+1)%stepsInDay]
		s.deviation[step] = max(next-s.offsets[step], s.offsets[step]-next)
	}
	for step := range s.offsets {
		s.offsets[step] -= float32(s.mean)
	}
}

// meanAbsolute turns a mean absolute deviation into a standard one, for values that are spread normally.
const meanAbsolute = 1.2533

// band is what is usual at a time of day; known is false before two days. The deviations of the hour around it smooth
// its own. What jumps at this time may jump a step earlier or later.
func (s *Season) band(step int) (b Band, known bool) {
	const around = 6
	sum, jump, own := 0.0, 0.0, float64(s.offsets[step])
	for i := -around; i <= around; i++ {
		at := (step + i + stepsInDay) % stepsInDay
		if sum += float64(s.deviation[at]); i == -1 || i == 1 {
			jump = max(jump, math.Abs(float64(s.offsets[at])-own))
		}
	}
	mean := s.level + own
	return Band{mean, deviation(meanAbsolute*sum/(2*around+1), mean) + jump/wide}, s.seen >= 2*stepsInDay
}
