package score

// Anomalous is a metric that is unlike its habit.
type Anomalous struct {
	Metric string // l4_client.avg_bandwidth
	High   bool   // it is of high priority
	Text   string // "bandwidth 4.1 σ above the hour's habit"
}

func penalties(all []Anomalous) (reasons []Reason) {
	for _, one := range all {
		points := 1.0
		if one.High {
			points = 2
		}
		reasons = append(reasons, Reason{Anomaly, points, one.Text, one.Metric})
	}
	return reasons
}
