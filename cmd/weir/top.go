package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/client/top"
	"github.com/weir-lb/weir/controller/schema"
)

// topFlags are those of `weir top` and of its subcommands.
type topFlags struct{ once, json bool }

func topCommand() *cobra.Command {
	var flags topFlags
	command := &cobra.Command{
		Use:   "top",
		Short: "Watch what happens now: requests, errors, times and connections, each second",
		Long: `Watch what happens now, as a table in the terminal that changes each second.

Keys: q quits, the arrows or j and k move, Enter opens a virtual service, Esc goes back, s changes the order, / filters
by name, e shows the engines. If the output is no terminal, the command prints one table and ends.`,
		Example: `  weir top
  weir top vs web
  weir top engines --once
  weir top --json | jq -c '.data.overview.virtual_services[0]'`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%q is nothing to watch: %s", args[0], hintFor(command, args))
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.show(command.Context(), top.Start{}, "")
		},
	}
	command.PersistentFlags().BoolVar(&flags.once, "once", false, "print one table, and end")
	command.PersistentFlags().BoolVar(&flags.json, "json", false, "print each event as a line of JSON (docs/live.md)")
	service, _ := schema.Lookup("virtualservice")
	command.AddCommand(
		&cobra.Command{
			Use:   "engines",
			Short: "Watch the engines: CPU, memory, requests, connections",
			Args:  arguments(),
			RunE: func(command *cobra.Command, _ []string) error {
				return flags.show(command.Context(), top.Start{Engines: true}, "")
			},
		},
		&cobra.Command{
			Use:               "vs NAME",
			Short:             "Watch one virtual service: where its requests spend their time, its engines, its servers",
			Args:              arguments("NAME"),
			ValidArgsFunction: completeNames(service, 1),
			RunE: func(command *cobra.Command, args []string) error {
				return flags.show(command.Context(), top.Start{}, args[0])
			},
		},
	)
	return command
}

// show shows what start says, or the virtual service with this name.
func (f topFlags) show(ctx context.Context, start top.Start, name string) error {
	session, err := openSession()
	if err != nil {
		return err
	}
	if name != "" {
		service, _ := schema.Lookup("virtualservice")
		object, err := find(ctx, session, service, []string{name})
		if err != nil {
			return err
		}
		start.Service = fmt.Sprint(object["uuid"])
	}
	return f.run(ctx, session, start)
}

func (f topFlags) run(ctx context.Context, session *client.Session, start top.Start) error {
	isTerminal := term.IsTerminal(stdin) && term.IsTerminal(int(os.Stdout.Fd()))
	switch {
	case f.json:
		return top.Lines(ctx, session, start, f.once, os.Stdout)
	case f.once || !isTerminal:
		return top.Once(ctx, session, start, os.Stdout)
	default:
		return top.Run(ctx, session, start, os.Stdin, os.Stdout)
	}
}
