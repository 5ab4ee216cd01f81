package runtime

import (
	"math"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
)

// workersOf returns what each worker of an engine does. Rates are absent where there is one sample only.
func workersOf(engine *fleet.Engine) (workers []schema.Object) {
	for _, worker := range engine.Workers() {
		page := schema.Object{
			"worker": int64(worker.GetWorker()), "cpu_us": int64(worker.GetCpuUs()),
			"batches": int64(worker.GetBatchesTotal()), "events": int64(worker.GetEventsTotal()),
			"open_connections": int64(worker.GetOpenConnections()),
		}
		if rates := worker.PerSecond; rates != nil {
			page["cpu_percent"] = math.Round(rates.CPUPercent*10) / 10
			page["per_second"] = schema.Object{"batches": rates.Batches, "events": rates.Events}
		}
		workers = append(workers, page)
	}
	return workers
}
