package runtime

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/schema"
)

// isElsewhere tells whether a counter is shown by handshakes, or as a mean, and not among the counters.
func isElsewhere(counter string) bool {
	_, agreed := fleet.HandshakesOf(counter)
	return agreed || strings.HasPrefix(counter, fleet.HandshakeFailure) || counter == fleet.ConnectTicks
}

// handshakes adds to a page what the TLS handshakes with clients agreed on, and why others failed, the most frequent
// first.
func handshakes(page schema.Object, tally fleet.Tally) {
	var agreed, failed []schema.Object
	for name, total := range tally.Totals {
		row := schema.Object{"total": total}
		if rate, known := tally.PerSecond[name]; known {
			row["per_second"] = rate
		}
		if of, is := fleet.HandshakesOf(name); is {
			row["version"] = of.Version
			if of.Version != fleet.Other {
				row["cipher_suite"], row["group"], row["key"] = of.CipherSuite, of.Group, of.Key
				row["resumed"] = of.Resumed == "true"
			}
			agreed = append(agreed, row)
		} else if reason, is := strings.CutPrefix(name, fleet.HandshakeFailure); is {
			row["reason"] = reason
			failed = append(failed, row)
		}
	}
	if len(agreed)+len(failed) > 0 {
		mostFirst(agreed)
		mostFirst(failed)
		page["tls"] = schema.Object{"handshakes": objectList(agreed), "failures": objectList(failed)}
	}
}

func mostFirst(rows []schema.Object) {
	text := func(row schema.Object, field string) string { value, _ := row[field].(string); return value }
	slices.SortFunc(rows, func(a, b schema.Object) int {
		order := cmp.Compare(b["total"].(int64), a["total"].(int64))
		for _, field := range []string{"version", "cipher_suite", "group", "key", "reason"} {
			order = cmp.Or(order, cmp.Compare(text(a, field), text(b, field)))
		}
		return order
	})
}
