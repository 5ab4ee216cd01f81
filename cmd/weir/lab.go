package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-lb/weir/controller/schema/column"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
)

func labCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lab",
		Short: "A whole network on this machine: a router, engines, servers and clients",
		Long: `Build a network of namespaces on this machine: a router (FRR or BIRD), a controller, engines, nginx servers and clients, each
in a namespace of its own. None of them has a link or a route to this machine's own interfaces. Needs root.`,
	}
	command.AddCommand(labUpCommand(), labDownCommand(), labStatusCommand(), labExecCommand())
	return menu(command)
}

func labUpCommand() *cobra.Command {
	var kind string
	var engines int
	var elastic bool
	command := &cobra.Command{
		Use:   "up [FILE]",
		Short: "Build a lab, which stays until you take it down",
		Long: `Build the lab that a topology file describes. The default is a small version of the network in the report on 1 million TLS
transactions per second (lab/seed.toml in Weir's source). What a crashed lab has left is removed first.`,
		Example: `  weir lab up
  weir lab up --engines 16 --router bird
  weir lab up --engines 0 --elastic
  weir lab exec client-1 curl http://10.2.0.11/index.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			t, err := readTopology(args)
			if err != nil {
				return err
			}
			t.Router.Kind = cmp.Or(kind, t.Router.Kind)
			if command.Flags().Changed("engines") {
				t.Engines.Count = engines
			}
			t.Elastic = t.Elastic || elastic
			return bringUp(command.Context(), command.OutOrStdout(), t)
		},
	}
	command.Flags().StringVar(&kind, "router", "", "frr or bird (default: as in the file)")
	command.Flags().BoolVar(&elastic, "elastic", false, "have the controller start and stop engines as needed")
	command.Flags().IntVar(&engines, "engines", 0, "number of engines at the start (default: as in the file)")
	return command
}

func readTopology(args []string) (topology.Topology, error) {
	if len(args) == 0 {
		return lab.Seed()
	}
	return topology.Load(args[0])
}

// bringUp builds the lab, or leaves nothing.
func bringUp(ctx context.Context, out io.Writer, t topology.Topology) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	programs := filepath.Dir(self)
	if err := lab.CheckSite(t, programs); err != nil {
		return err
	}
	told := &teller.Teller{Out: out, Live: out == os.Stdout && term.IsTerminal(int(os.Stdout.Fd()))}
	site, err := lab.OpenLastingSite(t, programs, told)
	if err != nil {
		return err
	}
	if err := site.Build(ctx); err != nil {
		return errors.Join(err, site.Close())
	}
	if err := site.Keep(); err != nil {
		return errors.Join(err, site.Close())
	}
	return showLab(out, t.Name)
}

func labDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down [NAME]",
		Short: "Take a lab down, and remove what crashed labs have left",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			swept, err := network.Sweep()
			for _, name := range swept {
				fmt.Fprintf(command.OutOrStdout(), "Took down what was left of lab %s.\n", name)
			}
			if err != nil {
				return err
			}
			name, err := labName(args, network.Kept)
			if err == nil {
				err = network.TakeDown(name)
			}
			if err != nil {
				return unlessSwept(err, swept)
			}
			fmt.Fprintf(command.OutOrStdout(), "Took down lab %s.\n", name)
			return nil
		},
	}
}

// unlessSwept is no error where the lab that is not there is one that was swept.
func unlessSwept(err error, swept []string) error {
	var none *network.NotThere
	if errors.As(err, &none) && (slices.Contains(swept, none.Name) || none.Name == "" && len(swept) > 0) {
		return nil
	}
	return err
}

// labName is the name that was given, or that of the only lab there is to name.
func labName(args []string, there func() ([]string, error)) (string, error) {
	if len(args) > 0 && args[0] != "" {
		return args[0], nil
	}
	names, err := there()
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", &network.NotThere{}
	case len(names) > 1:
		return "", fmt.Errorf("there are several labs: name one of %s", strings.Join(names, ", "))
	}
	return names[0], nil
}

func labStatusCommand() *cobra.Command {
	command := &cobra.Command{
		Use:        "status [NAME]",
		Short:      "Show the nodes of a lab, the processes in them, and the routes to VIPs",
		Args:       cobra.MaximumNArgs(1),
		SuggestFor: []string{"list", "ls", "show"},
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		name, err := labName(args, network.Standing)
		if err != nil {
			return err
		}
		if *output == asJSON {
			state, err := lab.Inspect(name)
			if err != nil {
				return err
			}
			return printJSON(command.OutOrStdout(), state)
		}
		return showLab(command.OutOrStdout(), name)
	}
	return command
}

func showLab(out io.Writer, name string) error {
	state, err := lab.Inspect(name)
	if err != nil {
		return err
	}
	owners := map[netip.Addr]string{}
	nodes := table{{"NODE", "ADDRESSES", "RUNS"}}
	for _, node := range state.Nodes {
		for _, address := range node.Addresses {
			owners[address] = node.Name
		}
		nodes = append(nodes, []string{node.Name, joinAddresses(node.Addresses), column.Dash(programs(node.Processes))})
	}
	routes := table{{"ROUTE", "BY"}}
	for _, route := range state.Routes {
		var by []string
		for _, hop := range route.NextHops {
			by = append(by, cmp.Or(owners[hop], hop.String()))
		}
		routes = append(routes, []string{route.Prefix.String(), column.Dash(strings.Join(by, ", "))})
	}
	fmt.Fprintf(out, "\nLab %s\n", state.Name)
	for _, part := range []table{nodes, routes} {
		fmt.Fprintln(out)
		if err := part.print(out); err != nil {
			return err
		}
	}
	if len(state.Routes) == 0 {
		fmt.Fprintln(out, "None: no engine announces a VIP.")
	}
	names, err := network.Standing()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(out, "\n", whatToType(os.Args[0], state, len(names) == 1))
	return err
}

// whatToType are lines to copy; a lab that is not the only one is named in them.
func whatToType(weir string, state lab.State, only bool) string {
	inside := weir + " lab exec"
	if !only {
		inside += " --lab " + state.Name
	}
	return fmt.Sprintf(`Controller   %[1]s controller %[2]s login %[3]s --password-file %[4]s --trust-on-first-use
             %[1]s controller %[2]s status
Router       %[1]s router %[5]s "show …"
Client       %[1]s client-1 curl …
`, inside, weir, state.Controller, state.PasswordFile, strings.Join(state.RouterShell, " "))
}

// joinAddresses shows runs of addresses in IPv4 by their ends, and of IPv6 the same.
func joinAddresses(addresses []netip.Addr) string {
	var parts []string
	for i := 0; i < len(addresses); {
		last := i
		for last+1 < len(addresses) && addresses[last].Next() == addresses[last+1] {
			last++
		}
		part := addresses[i].String()
		if last > i {
			part += " – " + addresses[last].String()
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ", ")
}

// programs counts processes by program: "nginx ×2".
func programs(processes []network.Process) string {
	counts := map[string]int{}
	var names []string
	for _, p := range processes {
		if counts[p.Program]++; counts[p.Program] == 1 {
			names = append(names, p.Program)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		if counts[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, counts[name])
		}
	}
	return strings.Join(names, ", ")
}

func labExecCommand() *cobra.Command {
	var name string
	command := &cobra.Command{
		Use:   "exec NODE COMMAND …",
		Short: "Run a command in a node of a lab",
		Example: `  weir lab exec client-1 curl -k https://3.3.3.3/index.html
  weir lab exec router ip route`,
		Args: arguments("NODE", "COMMAND …"),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := labName([]string{name}, network.Standing)
			if err != nil {
				return err
			}
			return lab.Exec(name, args[0], args[1:])
		},
	}
	command.Flags().StringVar(&name, "lab", "", "the lab (default: the only one)")
	command.Flags().SetInterspersed(false) // what follows the node is the command's own
	return command
}
