package grading

import "iter"

// window has the last points of an object, the oldest first. Of equal points in a row it keeps one: most objects do
// nothing most of the time.
type window[T comparable] struct {
	runs   []run[T]
	length int // number of points
}

type run[T comparable] struct {
	point T
	count int
}

func (w *window[T]) put(point T) {
	if last := len(w.runs) - 1; last >= 0 && w.runs[last].point == point {
		w.runs[last].count++
	} else {
		w.runs = append(w.runs, run[T]{point, 1})
	}
	if w.length++; w.length <= points {
		return
	}
	w.length--
	if w.runs[0].count--; w.runs[0].count == 0 {
		copy(w.runs, w.runs[1:])
		w.runs = w.runs[:len(w.runs)-1]
	}
}

// all returns the points, each with its place.
func (w *window[T]) all() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		at := 0
		for _, run := range w.runs {
			for range run.count {
				if !yield(at, run.point) {
					return
				}
				at++
			}
		}
	}
}
