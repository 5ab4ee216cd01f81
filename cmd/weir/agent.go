package main

import (
	"fmt"
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

The first time, the engine joins its controller with a one-time token. "weir token" makes one, which is
valid for 10 minutes. From then on the engine has a certificate of its own in the state directory, and
needs no token.

The agent keeps the last Plan that worked. It serves that Plan before it reaches the controller, and
while the controller is away.

If virtual services are advertised over BGP, the engine announces their addresses to its routers, and its
machine must accept packets for these addresses. With --vip-interface lo the agent takes care of that;
this needs CAP_NET_ADMIN. To pass on connections that a router moves between engines, the agent also
needs CAP_BPF and CAP_PERFMON.

Health monitors that are scripts need CAP_SETUID, CAP_SETGID, CAP_KILL and CAP_SYS_ADMIN: a script runs
as the user nobody, in a process namespace of its own.

Network profiles of UDP with "snat: false" need CAP_NET_ADMIN, and CAP_NET_BIND_SERVICE for clients that use
ports below 1024.

On SIGTERM or Ctrl-C the agent withdraws its routes, lets requests in progress finish for some seconds, and
stops the data plane. With --keep-dataplane the data plane keeps serving, and the next agent on the same
state directory takes it over. So you can upgrade an agent without a client noticing.`,
		Example: `  weir agent --controller 10.0.0.1:9444 --token weir1.…      the first time
  weir agent --controller 10.0.0.1:9444                      every other time`,
		Args: arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			if config.RecordsMiB < 1 {
				return fmt.Errorf("--records-disk-mib %d: give at least 1", config.RecordsMiB)
			}
			config.Log = slog.New(slog.NewTextHandler(command.ErrOrStderr(), nil))
			return agent.Run(command.Context(), config)
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.Controller, "controller", "", "address of the controller for engines, host:port")
	flags.StringVar(&config.Token, "token", "", "one-time join token; only needed to join")
	flags.StringVar(&config.Name, "name", "", "name of the engine (default: the host's name)")
	flags.StringVar(&config.StateDir, "state-dir", "/var/lib/weir/agent",
		"directory for the certificate and the last Plan")
	flags.StringVar(&config.Dataplane, "dataplane", "",
		"path of weir-dataplane (default: beside this program, or in PATH)")
	flags.IntVar(&config.Workers, "workers", 0, "workers of the data plane (default: one for each core)")
	flags.StringVar(&config.VIPInterface, "vip-interface", "",
		"add VIPs that are advertised over BGP to this interface, such as lo (default: none)")
	flags.IntVar(&config.RecordsMiB, "records-disk-mib", 256,
		"how much of the disk records of requests may take while the controller is away, in MiB; ordinary ones go first")
	flags.BoolVar(&config.KeepDataplane, "keep-dataplane", false,
		"leave the data plane running for the next agent when this one ends; routers keep its routes")
	return command
}
