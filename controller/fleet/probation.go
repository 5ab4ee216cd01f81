package fleet

import (
	"fmt"
	"slices"
	"time"
)

// An engine that fails again and again attracts virtual services each time that it is back, and lets their clients down
// each time that it goes. So it gets nothing new until it has stayed for a while: longer with each failure of late.
const (
	failuresFree = 2                // of late; these are forgiven
	failureAge   = 10 * time.Minute // what is older is not of late
	firstProof   = time.Minute      // after failuresFree; each failure more doubles it
	lastProof    = 8 * time.Minute
	failuresMax  = 16 // are remembered
)

// fail notes that an engine went that was up.
func (e *engine) fail(now time.Time) {
	e.failures = slices.DeleteFunc(e.failures, func(at time.Time) bool { return now.Sub(at) > failureAge })
	if len(e.failures) < failuresMax {
		e.failures = append(e.failures, now)
	}
}

// provenAt is when an engine that is up will have stayed for long enough; zero: it need not prove itself.
func (e *engine) provenAt() time.Time {
	if !e.up || len(e.failures) <= failuresFree {
		return time.Time{}
	}
	proof := firstProof
	for range len(e.failures) - failuresFree - 1 {
		proof = min(2*proof, lastProof)
	}
	return e.upSince.Add(proof)
}

// onProbation says why an engine gets nothing new; empty: it may.
func (e *engine) onProbation(now time.Time) string {
	until := e.provenAt()
	if !until.After(now) {
		return ""
	}
	return fmt.Sprintf("failed %d times within %v: gets no virtual service that others serve before %s",
		len(e.failures), failureAge, until.UTC().Format(time.TimeOnly))
}
