package rest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs/query"
	logtext "github.com/weir-lb/weir/logs/text"
)

// replyCSV sends lines as a table, with the names of the fields as its head.
func (c *call) replyCSV(of records, asked asking, lines []schema.Object) error {
	var head []string
	switch {
	case asked.query.Groups != nil:
		head = append(append(slices.Clone(asked.query.Groups.By), "count"), asked.columns...)
	case asked.query.Histogram != nil:
		head = slices.Concat([]string{"start", "end"}, asked.query.Histogram.By, []string{"value"}, asked.columns)
	case asked.fields != nil:
		head = append([]string{of.time}, asked.fields...)
	default:
		head = append([]string{of.time}, slices.Sorted(maps.Keys(query.Types[of.kind]))...)
	}
	var table bytes.Buffer
	writer := csv.NewWriter(&table)
	_ = writer.Write(head) // a buffer takes everything
	for _, line := range lines {
		var cells []string
		for _, name := range head {
			cells = append(cells, cell(line[name]))
		}
		_ = writer.Write(cells)
	}
	writer.Flush()
	header := c.w.Header()
	header.Set("Content-Type", "text/csv; charset=utf-8")
	header.Set("Content-Disposition", `attachment; filename="logs.csv"`)
	header.Set("Cache-Control", "no-store")
	c.send(http.StatusOK, table.Bytes())
	return nil
}

// cell is a value as text, which may be a stranger's.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int64:
		return strconv.FormatInt(v, 10)
	case json.RawMessage:
		return logtext.Cell(string(v))
	case []string:
		return logtext.Cell(strings.Join(v, " "))
	}
	return logtext.Cell(fmt.Sprint(value))
}
