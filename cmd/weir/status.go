package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// overview is what `weir status` shows, and with -o json prints. Objects hold their runtime.
type overview struct {
	Controller      string          `json:"controller"`
	Cluster         client.Object   `json:"cluster"`
	Engines         []client.Object `json:"engines"`
	VirtualServices []client.Object `json:"virtual_services"`
	Pools           []client.Object `json:"pools"`
	Vips            []client.Object `json:"vips"`
	Others          []client.Object `json:"others"` // that the tables refer to
}

func statusCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Show the controller, its engines, its virtual services, and what is wrong with them",
		Args:  arguments(),
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		session, err := openSession()
		if err != nil {
			return err
		}
		seen := overview{Controller: session.URL()}
		if err := session.Get(command.Context(), "cluster/runtime", &seen.Cluster); err != nil {
			return err
		}
		lists := map[string]*[]client.Object{"serviceengine": &seen.Engines, "pool": &seen.Pools,
			"virtualservice": &seen.VirtualServices, "vsvip": &seen.Vips}
		for kind, objects := range lists {
			if *objects, err = session.List(command.Context(), kind, withRuntime); err != nil {
				return err
			}
		}
		service, _ := schema.Lookup("virtualservice")
		for _, kind := range service.Beside {
			if lists[kind] != nil {
				continue
			}
			objects, err := listIfAllowed(command.Context(), session, kind, nil)
			if err != nil {
				return err
			}
			seen.Others = append(seen.Others, objects...)
		}
		if *output == asJSON {
			return printJSON(os.Stdout, seen)
		}
		return seen.print(os.Stdout, time.Now())
	}
	return command
}

func (o overview) print(out io.Writer, now time.Time) error {
	others := column.Others{}
	others.Add(o.Pools)
	others.Add(o.Vips)
	others.Add(o.Others)
	engine, _ := schema.Lookup("serviceengine")
	service, _ := schema.Lookup("virtualservice")
	state := strings.TrimPrefix(column.Text(column.At(o.Cluster, "cluster_state", "state")), "CLUSTER_")
	for _, part := range []struct {
		title, none string
		rows        table
	}{
		{"Controller", "", table{{"URL", "STATE"}, {o.Controller, state}}},
		{"Engines", "None: let one join with `weir agent --controller HOST:9444 --token \"$(weir token)\"`.",
			tableOf(engine, o.Engines, others, now)},
		{"Virtual services", "None: create one, see `weir vs create --help`.",
			tableOf(service, o.VirtualServices, others, now)},
	} {
		fmt.Fprintln(out, part.title)
		if len(part.rows) == 1 { // headings alone
			part.rows = table{{part.none}}
		}
		if err := part.rows.indented().print(out); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return o.printWarnings(out)
}

func (t table) indented() table {
	for _, row := range t {
		row[0] = "  " + row[0]
	}
	return t
}

func (o overview) printWarnings(out io.Writer) error {
	warnings := o.warnings()
	if len(warnings) == 0 {
		_, err := fmt.Fprintln(out, "No warnings.")
		return err
	}
	_, err := fmt.Fprintf(out, "Warnings\n  %s\n", harmlessLines(strings.Join(warnings, "\n  ")))
	return err
}

func tokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token",
		Short: "Print a join token: with it one agent can join, once, within ten minutes",
		Args:  arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			session, err := openSession()
			if err != nil {
				return err
			}
			var token struct {
				AuthToken string `json:"auth_token"`
			}
			if err := session.Post(command.Context(), "securetoken-generate", client.Object{}, &token); err != nil {
				return err
			}
			fmt.Println(token.AuthToken)
			return nil
		},
	}
}
