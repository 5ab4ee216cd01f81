package main

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-lb/weir/demo"
)

func demoCommand() *cobra.Command {
	options := demo.Options{Out: os.Stdout}
	command := &cobra.Command{
		Use:   "demo",
		Short: "Serve an HTTPS virtual service with real parts, load it, and show the figures",
		Long: `Start three nginx servers, a controller and one engine on the loopback interface; configure the virtual service of the
1M-TPS paper in small through the REST API; drive full TLS handshakes at it for 10 seconds; show throughput, latency and
CPU per transaction; then serve until Ctrl-C. Needs nginx, and weir-dataplane and weir-load beside weir.`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			progress := os.Stdout
			if options.JSON {
				progress = os.Stderr
			}
			options.Progress, options.Live = progress, term.IsTerminal(int(progress.Fd()))
			return demo.Run(command.Context(), options)
		},
	}
	command.Flags().BoolVar(&options.Once, "once", false, "end after the load; exit 1 if anything fell short")
	command.Flags().BoolVar(&options.JSON, "json", false, "print the figures as one JSON object, last on standard output")
	return command
}
