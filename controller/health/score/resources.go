package score

import (
	"fmt"

	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Engine are the facts about an engine.
type Engine struct {
	Name          string
	Profile       *kinds.AnalyticsProfile
	State         health.State
	Reason        string
	Up            float64 // share of the window in which it worked
	CPUPercent    float64 // of what its workers can use, in the last minute
	MemoryPercent float64 // of the machine
	// clients that it sent away in the window, for want of a place and for want of memory
	ShortOfPlaces, ShortOfMemory float64

	Anomalies []Anomalous
}

// lackWorth are the points that a lack of resources costs at most, and those that missing engines cost at most.
const lackWorth = 25

// OfEngine grades an engine: the share of time in which it worked, less what it lacks.
func OfEngine(e *Engine) Score {
	if score, is := ungraded(e.State, nonEmpty(e.Reason), e.Profile.EnableSEAnalytics, "enable_se_analytics"); is {
		return score
	}
	var p parts
	p.take(Reason{Performance, (1 - e.Up) * 100, fmt.Sprintf("down %s of the time", percent(1-e.Up)), "oper_state"})
	p.points[Performance] = 100 * e.Up
	p.formula = fmt.Sprintf("100 × %.2f up", e.Up)
	p.penalty(Resources, nonZero(e.lack()), e.Profile.MaxResourcesPenalty)
	if e.Profile.EnableAdvancedAnalytics {
		p.penalty(Anomaly, penalties(e.Anomalies), e.Profile.MaxAnomalyPenalty)
	}
	return p.score()
}

// ramp is 0 up to a value, 1 from another one on, and a line between.
func ramp(value, from, to float64) float64 { return min(1, max(0, (value-from)/(to-from))) }

// lack is what the engine lacks most.
func (e *Engine) lack() Reason {
	most := Reason{Part: Resources}
	for _, of := range [...]struct {
		share, value float64
		attr, text   string
	}{
		{ramp(e.CPUPercent, 80, 98), e.CPUPercent, "se_stats.avg_cpu_usage", "CPU %.0f %%"},
		{ramp(e.MemoryPercent, 85, 97), e.MemoryPercent, "se_stats.avg_mem_usage", "memory %.0f %%"},
		{ramp(e.ShortOfPlaces, 0, 1), e.ShortOfPlaces, "se_stats.avg_connection_mem_usage",
			"sent %.0f clients away for want of a place"},
		{ramp(e.ShortOfMemory, 0, 1), e.ShortOfMemory, "se_stats.avg_packet_buffer_usage",
			"sent %.0f clients away for want of memory"},
	} {
		if points := lackWorth * of.share; points > most.Points {
			most.Points, most.Attr, most.Text = points, of.attr, e.Name+" "+fmt.Sprintf(of.text, of.value)
		}
	}
	return most
}

// resources are what the engine that lacks most, and missing engines, cost a virtual service.
func (s *Service) resources() []Reason {
	most := Reason{}
	for i := range s.Engines {
		if lack := s.Engines[i].lack(); lack.Points > most.Points {
			most = lack
		}
	}
	reasons := nonZero(most)
	if missing := s.Wanted - s.Serving; missing > 0 {
		reasons = append(reasons, Reason{Resources, lackWorth * float64(missing) / float64(s.Wanted),
			fmt.Sprintf("%d of %d engines serve", s.Serving, s.Wanted), "ha_index"})
	}
	return reasons
}

func nonZero(reason Reason) []Reason {
	if reason.Points == 0 {
		return nil
	}
	return []Reason{reason}
}
