package live

import "github.com/weir-lb/weir/controller/model"

// service is a virtual service that an engine reports.
type service struct {
	tenant string
	http   bool
	series series[point]
	// Of the responses in the last coarse step, those that are no errors in spite of their class, per second.
	excluded float32
	parts    []part // what each engine counted for it in the last step; only while it is watched

	rows    []*interval // of the step that is being added up
	missing int
}

// part is what one engine counted for a virtual service in a step.
type part struct {
	engine string
	point  point
}

func (s *service) describe(vs *model.VirtualService) { s.tenant, s.http = vs.Tenant(), vs.HTTP != nil }

// fold adds up what the engines counted for the virtual service. It adds the counts to those of the engines, too.
func (s *service) fold(uuid string) sum {
	all := sum{engines: len(s.rows), missing: s.missing}
	s.parts = s.parts[:0]
	for _, interval := range s.rows {
		if s.series.fine == nil {
			counted := all.countsIn(interval.stretches, uuid, interval.seconds, s.http)
			all.counts.join(&counted)
			interval.counts.join(&counted)
			continue
		}
		part := part{engine: interval.engine}
		counted := sum{engines: 1}
		counted.counts = counted.countsIn(interval.stretches, uuid, interval.seconds, s.http)
		part.point = counted.point()
		s.parts = append(s.parts, part)
		all.join(&counted)
		interval.counts.join(&counted.counts)
	}
	clear(s.rows)
	s.rows, s.missing = s.rows[:0], 0
	return all
}
