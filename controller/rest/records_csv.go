package rest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs/query"
)

// replyCSV sends lines as a table, with the names of the fields as its head.
func (c *call) replyCSV(of records, asked asking, lines []schema.Object) error {
	var head []string
	switch {
	case asked.query.Groups != nil:
		head = append(append(slices.Clone(asked.query.Groups.By), "count"), asked.columns...)
	case asked.query.Histogram != nil:
		head = []string{"start", "end", "value"}
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

// cell is a value as text. A spreadsheet takes a text that begins with one of these characters for a formula, and the
// text may be a stranger's.
func cell(value any) string {
	var text string
	switch v := value.(type) {
	case nil:
		return ""
	case json.RawMessage:
		text = string(v)
	default:
		text = fmt.Sprint(v)
	}
	if _, number := value.(float64); !number && text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
