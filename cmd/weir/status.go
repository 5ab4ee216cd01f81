package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
)

// overview is what `weir status` shows, and with -o json prints.
type overview struct {
	Controller      string          `json:"controller"`
	Cluster         client.Object   `json:"cluster"`
	Engines         []client.Object `json:"engines"`
	VirtualServices []client.Object `json:"virtual_services"`
}

func statusCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "status",
		Short: "Show the controller, its engines, its virtual services, and what is wrong with them",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			session, err := openSession()
			if err != nil {
				return err
			}
			seen := overview{Controller: session.URL()}
			if err := session.Get(command.Context(), "cluster/runtime", &seen.Cluster); err != nil {
				return expired(err)
			}
			if seen.Engines, err = session.List(command.Context(), "serviceengine", nil); err != nil {
				return expired(err)
			}
			if seen.VirtualServices, err = session.List(command.Context(), "virtualservice", nil); err != nil {
				return expired(err)
			}
			if output == "json" {
				return printJSON(os.Stdout, seen)
			}
			return seen.print(command, session)
		},
	}
	addOutput(command, &output)
	return command
}

func (o overview) print(command *cobra.Command, session *client.Session) error {
	fmt.Printf("Controller   %s   %s\n\n", o.Controller, text(at(o.Cluster, "cluster_state", "state")))
	for _, part := range []struct {
		title, kind string
		objects     []client.Object
	}{{"Engines", "serviceengine", o.Engines}, {"Virtual services", "virtualservice", o.VirtualServices}} {
		fmt.Println(part.title)
		if err := printObjects(command.Context(), os.Stdout, session, part.kind, part.objects); err != nil {
			return err
		}
		fmt.Println()
	}
	return o.printWarnings(command, session)
}

// printWarnings lists what engines refused, or accepted but do not do.
func (o overview) printWarnings(command *cobra.Command, session *client.Session) error {
	for _, object := range o.VirtualServices {
		runtime, err := runtimeOf(command.Context(), session, "virtualservice", object)
		if err != nil {
			return err
		}
		warnings, _ := at(runtime, "warnings").([]any)
		for _, warning := range warnings {
			fmt.Printf("! %s: %s %s: %s (engine %s)\n", text(object["name"]), text(at(warning, "kind")),
				text(at(warning, "field")), text(at(warning, "message")), dash(text(at(warning, "engine"))))
		}
	}
	return nil
}

func tokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token",
		Short: "Print a join token: with it one agent can join, once, within ten minutes",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			session, err := openSession()
			if err != nil {
				return err
			}
			var token struct {
				AuthToken string `json:"auth_token"`
			}
			if err := session.Post(command.Context(), "securetoken-generate", client.Object{}, &token); err != nil {
				return expired(err)
			}
			fmt.Println(token.AuthToken)
			return nil
		},
	}
}
