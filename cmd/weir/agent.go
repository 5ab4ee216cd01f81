package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/agent"
)

func agentCommand() *cobra.Command {
	config := agent.Config{Version: version}
	command := &cobra.Command{
		Use:   "agent --controller HOST:PORT [--token TOKEN]",
		Short: "Run an engine: the agent and the data plane under it",
		Long: `Run an engine on this machine: the agent, and the data plane that it starts and watches.

The first time, the engine joins its controller with a one-time token, which "weir token" makes and
which is good for 10 minutes. From then on it has a certificate of its own in the state directory, and
needs no token any more.

The agent keeps the last Plan that served. It serves that Plan before it reaches the controller, and
goes on with it while the controller is away.

Where virtual services are advertised over BGP, the engine tells its routers of them, and its machine has
to take packets for their addresses: with --vip-interface lo the agent sees to that, which needs
CAP_NET_ADMIN. To pass on connections that a router moves between engines it needs CAP_BPF and CAP_PERFMON, too.

At the end (SIGTERM, Ctrl-C) routers send clients elsewhere, requests in flight may finish for some seconds, and the data plane stops.
With --keep-dataplane it goes on serving, and the next agent on the same state directory takes it over:
that is how an agent is upgraded without a client noticing.`,
		Example: `  weir agent --controller 10.0.0.1:9444 --token weir1.…      the first time
  weir agent --controller 10.0.0.1:9444                      ever after`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			config.Log = slog.New(slog.NewTextHandler(command.ErrOrStderr(), nil))
			return agent.Run(command.Context(), config)
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.Controller, "controller", "", "where the controller takes engines, host:port")
	flags.StringVar(&config.Token, "token", "", "one-time join token; only needed to join")
	flags.StringVar(&config.Name, "name", "", "name of the engine (default: of the host)")
	flags.StringVar(&config.StateDir, "state-dir", "/var/lib/weir/agent", "where the certificate and the last Plan are kept")
	flags.StringVar(&config.Dataplane, "dataplane", "", "path of weir-dataplane (default: beside this program, or in PATH)")
	flags.IntVar(&config.Workers, "workers", 0, "workers of the data plane (default: one for each core)")
	flags.StringVar(&config.VIPInterface, "vip-interface", "", "put VIPs that are advertised over BGP on this interface, such as lo (default: on none)")
	flags.BoolVar(&config.KeepDataplane, "keep-dataplane", false, "leave the data plane running when the agent ends, for the next one; routers keep its routes")
	return command
}
