package controller

import (
	"path/filepath"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/grading"
	"github.com/weir-lb/weir/controller/metrics"
	"github.com/weir-lb/weir/host"
)

// historyName is the directory of the history of numbers, in the data directory. What is lost with it are graphs.
const historyName = "metrics"

func historyOf(config Config, data *data, known *fleet.Fleet, grades *grading.Grades,
	told *events.Log, numbers metrics.Receiver) *metrics.History {
	return metrics.New(metrics.Config{
		Dir: filepath.Join(config.DataDir, historyName), Fleet: known, Scores: grades, Events: told, Log: config.Log,
		Machine: func() host.Counts { return host.Read(config.DataDir) }, Receiver: numbers,
		TenantName: func(uuid string) string {
			if record, ok := data.objects.View().Get("tenant", uuid); ok {
				return record.Name
			}
			return uuid
		},
	})
}
