package plan

import "slices"

// comingMax is how many coming Plans a Standing knows; beyond that it forgets the second. The data plane has the first
// of them, and one waits at each stage before it. The others were overtaken, and get no answer.
const comingMax = 8

// Standing tells which Plan serves and which come. returnpath and detour go by it.
type Standing struct {
	Held   *Plan   // serves, or stands for the one that does; nil: none yet
	coming []*Plan // each may serve next; in the order in which they were expected
}

// Expect notes that a Plan comes. Those expected before it may still serve first.
func (s *Standing) Expect(coming *Plan) {
	s.coming = append(s.coming, coming)
	if len(s.coming) > comingMax {
		s.coming = slices.Delete(s.coming, 1, 2)
	}
}

// Hold notes that a Plan serves.
func (s *Standing) Hold(held *Plan) {
	s.Held = held
	s.Drop(held)
}

// Drop notes that the data plane has answered a Plan, which comes no more. Nor do those expected before it: Plans are
// answered in their order, so these were overtaken. A Plan that was not expected changes nothing.
func (s *Standing) Drop(plan *Plan) {
	s.coming = slices.Delete(s.coming, 0, slices.Index(s.coming, plan)+1)
}

// All are the Plan that serves, nil if none does, and those that come. The newest is the last.
func (s *Standing) All() []*Plan {
	return slices.Concat([]*Plan{s.Held}, s.coming)
}
