package score

// Report is the score of an object, with those of the objects that it is made of: a virtual service has its pool and
// its engines, and a pool its servers.
type Report struct {
	Kind  string // as in the API; "server" for a server
	UUID  string // of a server: that of its pool
	Name  string // of a server: its id
	Score Score
	Parts []Report
}

// Shown is a score in the shape of Avi's inventory. The numbers of an object that is not graded are null, and never 0.
func (s *Score) Shown() map[string]any {
	shown := map[string]any{
		"health_score": nil, "performance_score": nil, "reason": s.Reason(), "reason_attr": s.Attr(),
		"weir_band": s.Band.String(),
	}
	if s.Band == Grey {
		return shown
	}
	shown["health_score"], shown["performance_score"] = int64(s.Value), int64(s.Performance)
	shown["resources_penalty"], shown["anomaly_penalty"] = int64(s.Resources), int64(s.Anomaly)
	shown["security_penalty"] = int64(s.Security)
	return shown
}
