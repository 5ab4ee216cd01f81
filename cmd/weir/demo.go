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
		Short: "Serve an HTTPS virtual service, send load to it, and show the figures",
		Long: `Build a small version of the virtual service of the 1M-TPS report: nginx servers, a controller and engines, configured through
the REST API. Send requests of HTTP/1.1 and of HTTP/2 over TLS for 10 seconds, with a full handshake each and then over kept connections.
Show throughput, latency and CPU time of both beside each other. Then make one of the servers slow, keep the load going until Ctrl-C, and
print the address of the web pages, which show what happens.

As root, everything runs in a network of namespaces behind a router (see "weir lab"), and the virtual service is scaled from 1
engine to 4 and back to 2 under load; the web pages are reached through a relay at 127.0.0.1. Otherwise, or with --loopback, one engine runs on the loopback interface.

Needs nginx (as root also frr), and weir-dataplane and weir-load in the directory of weir.`,
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
	command.Flags().BoolVar(&options.Loopback, "loopback", false,
		"use the loopback interface and one engine, also as root")
	command.Flags().BoolVar(&options.Once, "once", false, "stop after the load; exit status 1 if a check failed")
	command.Flags().StringVar(&options.Picture, "picture", "",
		"write a picture of the figures, and as root of the scaling, into this file, as SVG")
	command.Flags().BoolVar(&options.JSON, "json", false,
		"print the figures as one JSON object in the last line of standard output")
	return command
}
