package fleet

import dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"

// Worker is what a worker of a data plane has done.
type Worker struct {
	*dataplanev1.WorkerCounters
	PerSecond *WorkerRates // nil: unknown
}

// WorkerRates are those between the last two samples.
type WorkerRates struct {
	CPUPercent      float64 // of one core, which is all that a worker can use
	Batches, Events float64
}

// Workers returns the workers of an engine that works, in the order of their numbers.
func (e *Engine) Workers() (workers []Worker) {
	if !e.Works() || e.Sample == nil {
		return nil
	}
	earlier := map[uint32]*dataplanev1.WorkerCounters{}
	if e.Earlier != nil {
		for _, counters := range e.Earlier.GetWorkerCounters() {
			earlier[counters.GetWorker()] = counters
		}
	}
	for _, now := range e.Sample.GetWorkerCounters() {
		worker := Worker{WorkerCounters: now}
		if then, seconds := earlier[now.GetWorker()], e.seconds(); then != nil && seconds > 0 {
			worker.PerSecond = &WorkerRates{
				CPUPercent: float64(now.GetCpuUs()-then.GetCpuUs()) / seconds / 10_000,
				Batches:    float64(now.GetBatchesTotal()-then.GetBatchesTotal()) / seconds,
				Events:     float64(now.GetEventsTotal()-then.GetEventsTotal()) / seconds,
			}
		}
		workers = append(workers, worker)
	}
	return workers
}
