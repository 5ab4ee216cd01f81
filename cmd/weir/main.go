// Command weir is every process of the control side in one binary: controller, agent, and the operator's tools.
//
// This package holds flags and wiring only; what a command does lives in the package it calls.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "weir:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "weir",
		Short:         "A software load-balancing platform",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(controllerCommand())
	return root
}

// version is set at link time: -ldflags "-X main.version=1.2.3".
var version = "development"
