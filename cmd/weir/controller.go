package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/controller"
)

func controllerCommand() *cobra.Command {
	config := controller.Config{Version: version}
	command := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller: objects, placement and the REST API",
		Args:  arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			config.Out, config.Log = command.OutOrStdout(), slog.New(slog.NewTextHandler(command.ErrOrStderr(), nil))
			return controller.Run(command.Context(), config)
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.DataDir, "data-dir", "/var/lib/weir/controller", "where objects, keys and the admin password are kept")
	flags.StringVar(&config.Listen, "listen", ":9443", "address of the REST API (HTTPS)")
	flags.StringVar(&config.EngineListen, "engine-listen", ":9444", "address that agents dial (gRPC)")
	flags.StringVar(&config.AdminPasswordFile, "admin-password-file", "",
		"file with the password that user admin gets at the first start (default: generated, kept in <data-dir>/admin-password)")
	return command
}
