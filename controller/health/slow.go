package health

import (
	"cmp"
	"slices"
	"time"
)

// ServerTime is how long one server of a pool needed, on average, until an answer began.
type ServerTime struct {
	Answers uint64
	Mean    time.Duration
}

// Slow is a server that needs far longer than the others of its pool.
type Slow struct {
	Index  int // in the list of servers
	Mean   time.Duration
	Others time.Duration // the mean of the servers that are not slow
	Share  float64       // of the answers of all servers, from 0 to 1
}

const (
	// slowAnswers is the number of answers below which a mean says nothing.
	slowAnswers = 10
	// slowTimes and slowBy: a server is slow if it needs that many times as long as the others, and longer by that
	// much.
	slowTimes = 5
	slowBy    = 50 * time.Millisecond
)

// SlowServers returns the servers of a pool that are slow, the slowest first. It compares each with the median of all,
// so at least half of the servers are never slow.
func SlowServers(servers []ServerTime) []Slow {
	var means []time.Duration
	var total uint64
	for _, server := range servers {
		total += server.Answers
		if server.Answers >= slowAnswers {
			means = append(means, server.Mean)
		}
	}
	if len(means) < 2 {
		return nil
	}
	slices.Sort(means)
	median := means[(len(means)-1)/2]
	isSlow := func(s ServerTime) bool {
		return s.Answers >= slowAnswers && s.Mean >= slowTimes*median && s.Mean-median >= slowBy
	}
	var slow []Slow
	var answers, others float64
	for i, server := range servers {
		if isSlow(server) {
			slow = append(slow, Slow{Index: i, Mean: server.Mean, Share: float64(server.Answers) / float64(total)})
			continue
		}
		answers += float64(server.Answers)
		others += float64(server.Answers) * float64(server.Mean)
	}
	for i := range slow {
		slow[i].Others = time.Duration(others / answers)
	}
	slices.SortStableFunc(slow, func(a, b Slow) int { return cmp.Compare(b.Mean, a.Mean) })
	return slow
}
