package runtime

import (
	"math"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
)

// tenth rounds to one decimal.
func tenth(value float64) float64 { return math.Round(value*10) / 10 }

// workersOf returns what each worker of an engine does. Rates are absent where there is one sample only.
func workersOf(engine *fleet.Engine) (workers []schema.Object) {
	for _, worker := range engine.Workers() {
		page := schema.Object{
			"worker": int64(worker.GetWorker()), "cpu_us": int64(worker.GetCpuUs()),
			"batches": int64(worker.GetBatchesTotal()), "events": int64(worker.GetEventsTotal()),
			"open_connections": int64(worker.GetOpenConnections()),
			"longest_batch_ms": milliseconds(ticks(worker.GetLongestTicks())),
		}
		if rates := worker.PerSecond; rates != nil {
			page["cpu_percent"] = tenth(rates.CPUPercent)
			page["per_second"] = schema.Object{"batches": rates.Batches, "events": rates.Events}
		}
		workers = append(workers, page)
	}
	return workers
}
