package intake

import (
	"strconv"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// split makes batches of rows that are within the limits of the store; of no rows, one without rows.
func split(rows []wire.Row) (batches [][]wire.Row) {
	const most = wire.MaxBatchBytes - 16 // the number of rows stands before them
	first, bytes := 0, 0
	for at, row := range rows {
		size := row.Size()
		if at > first && (at-first == wire.MaxRows || bytes+size > most) {
			batches, first, bytes = append(batches, rows[first:at]), at, 0
		}
		bytes += size
	}
	return append(batches, rows[first:])
}

// storeRefused is why records are lost that an engine did send.
const storeRefused = "the record store refused them"

// refusedRows stand for rows that the store refuses: one for those of a virtual service, class and type.
func refusedRows(rows []wire.Row) (lost []wire.Row) {
	type kind struct{ service, class, rows string }
	type sum struct {
		at              int // in lost
		weight, records uint64
	}
	sums := map[kind]*sum{}
	for _, row := range rows {
		of := kind{valueOf(row, "virtualservice"), valueOf(row, "class"), row.Type}
		if sums[of] == nil {
			sums[of] = &sum{at: len(lost)}
			short := fields{}
			for _, name := range []string{"virtualservice", "vs_name", "tenant", "service_engine",
				"service_engine_uuid", "vcpu_id", "class"} {
				short.text(name, valueOf(row, name))
			}
			lost = append(lost, wire.Row{Time: row.Time, Type: row.Type, Scope: row.Scope, Fields: short})
		}
		sums[of].weight += numberOf(row, query.WeightField, 1)
		sums[of].records += numberOf(row, "lost", 1)
	}
	for _, sum := range sums {
		all := fields(lost[sum.at].Fields)
		all.number(query.WeightField, sum.weight)
		all.number("lost", sum.records)
		all.text("lost_reason", storeRefused)
		lost[sum.at].Fields = all
	}
	return lost
}

func valueOf(row wire.Row, name string) string {
	for _, field := range row.Fields {
		if field.Name == name {
			return field.Value
		}
	}
	return ""
}

// numberOf is a number of a row, or what it is without the field.
func numberOf(row wire.Row, name string, without uint64) uint64 {
	text := valueOf(row, name)
	if text == "" {
		return without
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number < 0 {
		return 0
	}
	return uint64(number)
}
