package link

import (
	"sync"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// answersMax is far above what a controller has in progress at once. A controller that asks for more without reading is
// broken.
const answersMax = 64

// demandsMax is how many reports of hot keys may wait. Each has other keys, as long as there are many.
const demandsMax = 16

// outbox holds what one stream has to send. To put something in never blocks. Of status, samples (also of the host) and
// routing only the newest is kept, of each server only the newest verdict, and of demands the newest few. Too many
// answers end the stream.
type outbox struct {
	mu       sync.Mutex
	ready    chan struct{} // capacity 1: there may be something to take
	overflow bool
	answers  []*enginev1.Report
	status   *enginev1.Report
	sample   *enginev1.Report
	host     *enginev1.Report
	routing  *enginev1.Report
	demands  []*enginev1.Report
	verdicts map[serverKey]*enginev1.ServerVerdict // no more than the Plan has servers
}

type serverKey struct{ pool, server string }

func newOutbox() *outbox {
	return &outbox{ready: make(chan struct{}, 1), verdicts: map[serverKey]*enginev1.ServerVerdict{}}
}

func (o *outbox) put(report *enginev1.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch body := report.GetBody().(type) {
	case *enginev1.Report_Status:
		o.status = report
	case *enginev1.Report_Sample:
		o.sample = report
	case *enginev1.Report_Host:
		o.host = report
	case *enginev1.Report_Routing:
		o.routing = report
	case *enginev1.Report_KeyDemands:
		o.demands = append(o.demands[max(0, len(o.demands)+1-demandsMax):], report)
	case *enginev1.Report_Verdicts:
		for _, verdict := range body.Verdicts.GetVerdicts() {
			o.verdicts[serverKey{verdict.GetPoolUuid(), verdict.GetServerId()}] = verdict
		}
	default:
		if len(o.answers) == answersMax {
			o.overflow = true
		} else {
			o.answers = append(o.answers, report)
		}
	}
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// take empties the outbox, the urgent first. It is false when the outbox has overflowed.
func (o *outbox) take() ([]*enginev1.Report, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	reports := o.answers
	if len(o.verdicts) > 0 {
		verdicts := new(enginev1.ServerVerdicts)
		for _, verdict := range o.verdicts {
			verdicts.Verdicts = append(verdicts.Verdicts, verdict)
		}
		reports = append(reports, &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: verdicts}})
	}
	reports = append(reports, o.demands...)
	for _, latest := range []*enginev1.Report{o.status, o.routing, o.sample, o.host} {
		if latest != nil {
			reports = append(reports, latest)
		}
	}
	o.answers, o.demands, o.status, o.routing, o.sample, o.host = nil, nil, nil, nil, nil, nil
	clear(o.verdicts)
	return reports, !o.overflow
}
