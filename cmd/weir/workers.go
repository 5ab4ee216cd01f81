package main

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema/column"
)

// workersOf has a row for each worker of an engine. It is empty if there are none.
func workersOf(workers []any) table {
	if len(workers) == 0 {
		return nil
	}
	rows := table{{"WORKER", "CPU %", "BATCHES PER SECOND", "EVENTS PER SECOND", "OPEN CONNECTIONS",
		"LONGEST BATCH, MS"}}
	for _, item := range workers {
		worker, _ := item.(map[string]any)
		rows = append(rows, []string{
			column.Text(worker["worker"]), decimal(worker, 1, "cpu_percent"),
			decimal(worker, 1, "per_second", "batches"), decimal(worker, 1, "per_second", "events"),
			column.Text(worker["open_connections"]), decimal(worker, 1, "longest_batch_ms"),
		})
	}
	rows.alignRight()
	return rows
}

// decimal is empty if there is no such number.
func decimal(in map[string]any, decimals int, path ...string) string {
	number, isNumber := column.At(in, path...).(float64)
	if !isNumber {
		return ""
	}
	return fmt.Sprintf("%.*f", decimals, number)
}
