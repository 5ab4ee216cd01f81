package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
)

// shownMetrics are the metrics that a command shows which names none.
var shownMetrics = map[string][]string{
	"virtualservice": {
		"l4_client.avg_new_established_conns", "l4_client.max_open_conns", "l4_client.avg_bandwidth",
		"l4_client.avg_errored_connections", "l7_client.avg_total_requests", "l7_client.avg_resp_2xx",
		"l7_client.avg_resp_4xx", "l7_client.avg_resp_5xx", "l7_client.avg_ssl_connections",
		"l7_client.avg_client_txn_latency", "weir.p50_total_time", "weir.p95_total_time", "weir.p99_total_time",
		"weir.p99_response_time", "l7_client.apdexr",
	},
	"pool": {
		"l7_server.avg_total_requests", "l4_server.avg_new_established_conns", "l4_server.max_open_conns",
		"l4_server.avg_errored_connections", "l4_server.avg_uptime", "l7_server.avg_application_response_time",
		"weir.p50_app_response_time", "weir.p95_app_response_time", "weir.p99_app_response_time", "l7_server.apdexr",
	},
	"serviceengine": {
		"se_stats.avg_cpu_usage", "se_stats.avg_mem_usage", "se_stats.avg_connections", "se_stats.avg_bandwidth",
		"se_stats.max_num_vs", "weir.avg_host_cpu_usage", "se_if.avg_bandwidth", "se_stats.avg_worst_ingress_latency",
	},
	controllerMetrics: {
		"controller_stats.avg_cpu_usage", "controller_stats.avg_mem_usage", "controller_stats.avg_disk_usage",
		"controller_stats.avg_num_ses", "controller_stats.avg_num_active_vs", "weir.avg_process_cpu_usage",
		"weir.avg_process_mem",
	},
}

// controllerMetrics is the path of metrics of the controller, which is no object.
const controllerMetrics = "controller"

func metricsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "metrics",
		Short: "Show how numbers went: requests, errors, times, connections, load",
		Long: `Show how numbers went. The controller keeps them for 7 days each 5 s, for 90 days each 5 minutes, and for 15
months each hour.`,
		Example: `  weir metrics vs web
  weir metrics vs web l7_client.avg_resp_5xx weir.p99_total_time --last 24h
  weir metrics pool web --last 6h --step 5m
  weir metrics controller --last 24h
  weir metrics query 'sum by (service) (rate(weir_service_requests_total[1m]))'`,
	}
	for _, name := range []string{"virtualservice", "pool", "serviceengine"} {
		kind, _ := schema.Lookup(name)
		command.AddCommand(metricsOfCommand(kind))
	}
	command.AddCommand(metricsOfControllerCommand(), metricsListCommand(), metricsQueryCommand())
	return menu(command)
}

// window is the time that a command looks back over.
type window struct{ last, step time.Duration }

// stepsShown is the number of steps if --step is not given, and about the width of a sparkline.
const stepsShown = 30

func (w *window) add(command *cobra.Command, last time.Duration) {
	command.Flags().DurationVar(&w.last, "last", last, "how far to look back")
	command.Flags().DurationVar(&w.step, "step", 0, "time of one value; at least 5s (default: a 30th of --last)")
}

// settle chooses the step if it is not given: a multiple of the 5 s between two samples.
func (w *window) settle() error {
	const least = 5 * time.Second
	switch {
	case w.last < least:
		return fmt.Errorf("--last %v: give at least %v", w.last, least)
	case w.step == 0:
		w.step = max(least, (w.last / stepsShown).Truncate(least))
	case w.step < least:
		return fmt.Errorf("--step %v: give at least %v", w.step, least)
	}
	if w.step > w.last {
		return fmt.Errorf("--step %v is longer than --last %v", w.step, w.last)
	}
	return nil
}

func metricsOfCommand(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use: kind.Name + " NAME [METRIC …]", Aliases: kind.Short, Short: "Show those of a " +
			kind.Title + also(kind.Short),
		Long: "Show metrics of a " + kind.Title +
			". `weir metrics list` lists them. A dash is a value that is not known.",
		ValidArgsFunction: completeNames(kind, 1),
		Args: func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				return arguments("NAME")(command, args)
			}
			return nil
		},
	}
	var w window
	w.add(command, 30*time.Minute)
	server := ""
	if kind.Name == "pool" {
		command.Flags().StringVar(&server, "server", "", "only this server: 10.0.0.1:80")
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := w.settle(); err != nil {
			return err
		}
		session, object, err := open(command.Context(), kind, args[:1])
		if err != nil {
			return err
		}
		asked := w.asks(kind.Name, args[1:])
		if server != "" {
			asked.Set("obj_id", server)
		}
		path := fmt.Sprintf("analytics/metrics/%s/%v?%s", kind.Name, object["uuid"], asked.Encode())
		return printMetrics(command.Context(), session, path, w, *output)
	}
	return command
}

func metricsOfControllerCommand() *cobra.Command {
	command := &cobra.Command{
		Use: controllerMetrics + " [METRIC …]", Short: "Show those of the controller and its machine",
		Long: "Show metrics of the controller. `weir metrics list` lists them. A dash is a value that is not known.",
		Args: cobra.ArbitraryArgs,
	}
	var w window
	w.add(command, 30*time.Minute)
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := w.settle(); err != nil {
			return err
		}
		session, err := openSession()
		if err != nil {
			return err
		}
		path := fmt.Sprintf("analytics/metrics/%s/%[1]s?%s", controllerMetrics,
			w.asks(controllerMetrics, args).Encode())
		return printMetrics(command.Context(), session, path, w, *output)
	}
	return command
}

// asks asks for metrics in a window; for none, it asks for those that are shown of the kind.
func (w *window) asks(kind string, ids []string) url.Values {
	if len(ids) == 0 {
		ids = shownMetrics[kind]
	}
	return url.Values{
		"metric_id": {strings.Join(ids, ",")}, "step": {fmt.Sprint(int(w.step.Seconds()))},
		"limit": {fmt.Sprint(int(w.last / w.step))}, "stop": {time.Now().UTC().Format(time.RFC3339)},
	}
}

func printMetrics(ctx context.Context, session *client.Session, path string, w window, output format) error {
	if output == asJSON {
		var whole client.Object
		if err := session.Get(ctx, path, &whole); err != nil {
			return err
		}
		return printJSON(os.Stdout, whole)
	}
	var answer metricsAnswer
	if err := session.Get(ctx, path, &answer); err != nil {
		return err
	}
	return answer.table(w).print(os.Stdout)
}

func metricsListCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "list", Short: "List the metrics that Weir counts, with units", Args: arguments(),
	}
	all := command.Flags().Bool("all", false, "also those of Avi's API that Weir does not count")
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		session, err := openSession()
		if err != nil {
			return err
		}
		var answer struct {
			Results []struct {
				Name     string   `json:"name"`
				Entities []string `json:"entity_types"`
				Unit     string   `json:"metric_units"`
				Text     string   `json:"description"`
				Counted  bool     `json:"weir_counted"`
			} `json:"results"`
		}
		if *output == asJSON {
			var whole client.Object
			if err := session.Get(command.Context(), "analytics/metric_id", &whole); err != nil {
				return err
			}
			return printJSON(os.Stdout, whole)
		}
		if err := session.Get(command.Context(), "analytics/metric_id", &answer); err != nil {
			return err
		}
		rows := table{{"METRIC", "OF", "UNIT", "WHAT IT SAYS"}}
		for _, metric := range answer.Results {
			if metric.Counted || *all {
				of := strings.NewReplacer("virtualservice", "vs", "serviceengine", "engine").Replace(
					strings.Join(metric.Entities, ", "))
				rows = append(rows, []string{metric.Name, of, unitOf(metric.Unit), metric.Text})
			}
		}
		return rows.print(os.Stdout)
	}
	return command
}

// metricsAnswer is what the API answers about one object.
type metricsAnswer struct {
	Series []struct {
		Header struct {
			Name, Units, Server string
			Statistics          struct {
				Min, Max, Mean float64
				Samples        int `json:"num_samples"`
			}
		}
		Data []struct{ Value *float64 }
	}
}

func (a metricsAnswer) table(w window) table {
	rows := table{{"METRIC", "UNIT", "NOW", "MEAN", "LEAST", "MOST", ""}}
	for _, one := range a.Series {
		values := make([]*float64, len(one.Data))
		for i, point := range one.Data {
			values[i] = point.Value
		}
		cells := []string{"-", "-", "-", "-"}
		if stats := one.Header.Statistics; stats.Samples > 0 {
			cells = []string{numberOf(values[len(values)-1]), number(stats.Mean), number(stats.Min), number(stats.Max)}
		}
		rows = append(rows, slices.Concat([]string{one.Header.Name, unitOf(one.Header.Units)}, cells,
			[]string{sparkline(values)}))
	}
	rows[0][6] = fmt.Sprintf("LAST %s, EACH %s", short(w.last), short(w.step))
	rows.alignRightIn(2, 5)
	return rows
}

// short is a duration without units of zero: 30m, 1h30m.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// unitOf is a unit of Avi's API as people write it.
func unitOf(unit string) string {
	switch unit {
	case "PER_SECOND":
		return "1/s"
	case "BITS_PER_SECOND":
		return "bit/s"
	case "BYTES_PER_SECOND":
		return "B/s"
	case "MILLISECONDS":
		return "ms"
	case "PERCENT":
		return "%"
	case "BYTES":
		return "B"
	}
	return ""
}
