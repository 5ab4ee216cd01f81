package main

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
	"github.com/weir-lb/weir/logs/query"
	logtext "github.com/weir-lb/weir/logs/text"
)

// lateRecords is how much later than others a record may come: each worker of an engine sends its own once a second.
const lateRecords = 3 * time.Second

// logsCommand shows records of requests and connections.
func logsCommand() *cobra.Command {
	list := &recordList{time: "report_timestamp", overlap: lateRecords}
	var class string
	var connections bool
	command := &cobra.Command{
		Use:   "logs [VIRTUAL-SERVICE]",
		Short: "List requests to a virtual service, newest first, or its connections",
		Long: `List the records of requests to a virtual service, newest first; without a name, of all.

Engines keep a record of significant requests (errors, slow ones), of those that a filter of the virtual service
asks for, and for a time of all (analytics_policy). WEIGHT says how many requests a record stands for: engines keep
only so many a second. "weir explain" with the id of a request (-o json has it) tells its story.`,
		Example: "  weir logs shop --since 2h --filter 'status>=500'\n" +
			"  weir logs shop --follow --class significant\n" +
			"  weir logs shop --filter path~/pay --filter 'total>1000' -o csv",
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("give it as `%s [VIRTUAL-SERVICE]`", command.CommandPath())
			}
			return nil
		},
	}
	list.addFlags(command, "a field of the records, like response_code, method, uri_path, client_ip, server_ip, "+
		"total_time, significant_log (-o json has all), or its name on the web pages: status, path, client, total, …")
	flags := command.Flags()
	flags.StringVar(&class, "class", "", "only significant, filtered or all others (all); separate several by commas")
	flags.BoolVar(&connections, "connections", false, "connections of layer 4, and those without a request")
	list.output = addOutput(command)
	list.output.allowCSV(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		list.shapeFor(connections)
		wanted, err := classParameters(class)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			wanted.Set("virtualservice", args[0])
		}
		if rest := wanted.Encode(); rest != "" {
			list.path += "&" + rest
		}
		return list.run(command.Context())
	}
	return command
}

// shapeFor chooses the table: of requests, or of connections.
func (l *recordList) shapeFor(connections bool) {
	if connections {
		l.path, l.kind, l.cells = "analytics/logs?type=0", query.Connections, connectionCells
		l.headings = []string{"TIME", "PROTOCOL", "CLIENT", "PORT", "IN", "OUT", "TOTAL ms", "SERVER", "WEIGHT", "WHY"}
		l.widths = []int{24, 12, 21, 5, 9, 9, 8, 21, 6}
		return
	}
	l.path, l.kind, l.cells = "analytics/logs?type=1", query.Requests, requestCells
	l.headings = []string{"TIME", "STATUS", "METHOD", "HOST", "PATH", "TOTAL ms", "SERVER", "CLIENT", "WEIGHT", "WHY"}
	l.widths = []int{24, 6, 7, 24, 40, 8, 21, 21, 6}
}

func requestCells(record client.Object) []string {
	if lost := lostCell(record); lost != "" {
		return []string{"-", "-", "-", "-", "-", "-", "-", cellOf(record, "weight"), lost}
	}
	return []string{cellOf(record, "response_code"), cellOf(record, "method"), cut(cellOf(record, "host"), 24),
		cut(cellOf(record, "uri_path"), 40), cellOf(record, "total_time"),
		addressOf(record, "server_ip", "server_dest_port"),
		addressOf(record, "client_ip", "client_src_port"), cellOf(record, "weight"), whyOf(record)}
}

func connectionCells(record client.Object) []string {
	if lost := lostCell(record); lost != "" {
		return []string{"-", "-", "-", "-", "-", "-", "-", cellOf(record, "weight"), lost}
	}
	return []string{strings.TrimPrefix(cellOf(record, "protocol"), "PROTOCOL_"),
		addressOf(record, "client_ip", "client_src_port"), cellOf(record, "client_dest_port"),
		cellOf(record, "rx_bytes"),
		cellOf(record, "tx_bytes"), cellOf(record, "total_time"), addressOf(record, "server_ip", "server_dest_port"),
		cellOf(record, "weight"), whyOf(record)}
}

func cellOf(record client.Object, field string) string {
	if number, is := record[field].(float64); is {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return column.Dash(column.Text(record[field]))
}

// lostCell says that a row stands for records that an engine had no room for; empty: it is a record.
func lostCell(record client.Object) string {
	reason, _ := record["lost_reason"].(string)
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("%s records of %s are missing: %s", cellOf(record, "lost"),
		cellOf(record, "service_engine"), reason)
}

func addressOf(record client.Object, address, port string) string {
	host, _ := record[address].(string)
	if host == "" {
		return "-"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + cellOf(record, port)
}

// ruleNames are the names of the fields with rules, in the order in which their rules act.
var ruleNames = []string{"network_rule", "host_rule", "security_rule", "authn_rule", "authz_rule",
	"request_rule", "response_rule"}

// whyOf says why there is a record, what failed, and which rules acted.
func whyOf(record client.Object) string {
	var words []string
	if state, _ := record["request_state"].(string); state != "" {
		words = append(words, state)
	}
	reasons, _ := record["significant_log"].([]any)
	for _, reason := range reasons {
		words = append(words, strings.TrimPrefix(fmt.Sprint(reason), "ADF_"))
	}
	if filter, _ := record["client_log_filter_name"].(string); filter != "" {
		words = append(words, "filter "+filter)
	}
	for _, name := range ruleNames {
		if rules, _ := record[fieldNames[name]].(string); rules != "" {
			words = append(words, strings.ReplaceAll(name, "_", " ")+" "+rules)
		}
	}
	return strings.Join(words, ", ")
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// classParameters are those of the API for a list of classes.
func classParameters(list string) (url.Values, error) {
	if list == "" {
		return url.Values{}, nil
	}
	names := map[string]string{query.Significant: "adf", query.Filtered: "udf", query.Every: "nf"}
	asked := url.Values{"adf": {"false"}, "udf": {"false"}, "nf": {"false"}}
	for class := range strings.SplitSeq(list, ",") {
		parameter, known := names[class]
		if !known {
			return nil, fmt.Errorf("--class %s: give %s, %s or %s", class, query.Significant,
				query.Filtered, query.Every)
		}
		asked.Set(parameter, "true")
	}
	return asked, nil
}

// printCSV prints all fields of records. A spreadsheet takes no cell for a formula, and a terminal none for a command.
func (l *recordList) printCSV(found []client.Object, head bool) error {
	fields := append([]string{l.time}, slices.Sorted(maps.Keys(query.Types[l.kind]))...)
	writer := csv.NewWriter(l.out)
	if head || !l.headed {
		l.headed = true
		if err := writer.Write(fields); err != nil {
			return err
		}
	}
	for _, record := range found {
		var cells []string
		for _, name := range fields {
			text := ""
			switch value := record[name].(type) {
			case nil:
			case []any:
				text = strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(value), "["), "]")
			case float64:
				text = strconv.FormatFloat(value, 'f', -1, 64)
			default:
				text = fmt.Sprint(value)
			}
			if name != l.time {
				text = logtext.Cell(text)
			}
			cells = append(cells, text)
		}
		if err := writer.Write(cells); err != nil {
			return err
		}
	}
	writer.Flush()
	return writer.Error()
}
