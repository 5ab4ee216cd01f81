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
		Use:   "weir",
		Short: "A software load-balancing platform",
		Long: `Weir is a software load-balancing platform: one controller, any number of engines behind one address.

To see it work on this machine, run "weir demo". To operate one, log in ("weir login URL") and then use the other
commands; every kind of object has list, show, create and delete, for example "weir pool list".`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddGroup(
		&cobra.Group{ID: "processes", Title: "Processes:"},
		&cobra.Group{ID: "operate", Title: "Operate:"},
		&cobra.Group{ID: "objects", Title: "Objects (list, show, create, delete):"},
	)
	add(root, "processes", controllerCommand(), agentCommand(), demoCommand())
	add(root, "operate", loginCommand(), statusCommand(), tokenCommand())
	add(root, "objects", kindCommands()...)
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, command := range commands {
		command.GroupID = group
	}
	root.AddCommand(commands...)
}

// version is that of the whole tree, as in Cargo.toml: an agent remarks on a data plane of another one. A release may set
// it at link time: -ldflags "-X main.version=1.2.3".
var version = "0.1.0"
