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
		Long: `Build the virtual service of the 1M-TPS paper in small: nginx servers, a controller and engines, configured through the REST
API. Drive full TLS handshakes at it for 10 seconds; show throughput, latency and CPU per transaction; then serve until Ctrl-C.

For root, everything is in a network of namespaces behind a router (see "weir lab"), and the virtual service goes from 1
engine to 4 and back to 2 under load. For others, or with --loopback, one engine is on the loopback interface.

Needs nginx, for root also frr, and weir-dataplane and weir-load beside weir.`,
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
	command.Flags().BoolVar(&options.Loopback, "loopback", false, "stay on the loopback interface, with one engine, as root too")
	command.Flags().BoolVar(&options.Once, "once", false, "end after the load; exit 1 if anything fell short")
	command.Flags().StringVar(&options.Picture, "picture", "", "draw how engines come and go into this file, as SVG (for root)")
	command.Flags().BoolVar(&options.JSON, "json", false, "print the figures as one JSON object, last on standard output")
	return command
}
