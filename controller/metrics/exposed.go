package metrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// escapes are what the text format wants in the values of labels.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// exposed is the newest value as a line of the text format of Prometheus.
func (e *entry) exposed() string {
	var line strings.Builder
	line.WriteString(e.name)
	between := "{"
	e.labels.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			line.WriteString(between + l.Name + `="` + escapes.Replace(l.Value) + `"`)
			between = ","
		}
	})
	if between == "," {
		line.WriteString("}")
	}
	line.WriteString(" " + strconv.FormatFloat(e.value, 'g', -1, 64) + "\n")
	return line.String()
}
