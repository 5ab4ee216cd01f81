package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/controller"
	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/cloud/process"
	"github.com/weir-lb/weir/lab/engines"
)

func controllerCommand() *cobra.Command {
	config := controller.Config{Version: version}
	engines := byOperators
	command := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller: objects, placement and the REST API",
		Args:  arguments(),
		RunE: func(command *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			config.Programs = filepath.Dir(self)
			if config.Engines, err = startsEngines(engines, self, config.DataDir); err != nil {
				return err
			}
			config.Out, config.Log = command.OutOrStdout(), slog.New(slog.NewTextHandler(command.ErrOrStderr(), nil))
			return controller.Run(command.Context(), config)
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.DataDir, "data-dir", "/var/lib/weir/controller",
		"directory for objects, keys and the admin password")
	flags.StringVar(&config.Listen, "listen", ":9443", "address of the REST API (HTTPS)")
	flags.StringVar(&config.EngineListen, "engine-listen", ":9444", "address that agents dial (gRPC)")
	flags.StringVar(&config.AdminPasswordFile, "admin-password-file", "",
		"file with the password of the user admin, read at the first start (default: generated, in <data-dir>/admin-password)")
	flags.StringVar(&engines, "engines", byOperators,
		"who starts the engines of groups in a cloud of type CLOUD_NONE: \"none\" (operators do), "+
			"\"process\" (the controller, on this machine), \"lab:NAME\" (the controller, in the namespaces of a lab)")
	return command
}

const byOperators = "none"

// startsEngines is the cloud that a flag names; nil: none.
func startsEngines(flag, self, dataDir string) (cloud.Cloud, error) {
	if flag == byOperators {
		return nil, nil
	}
	if lab, is := strings.CutPrefix(flag, "lab:"); is {
		return engines.OpenCloud(lab, filepath.Dir(self))
	}
	if flag != "process" {
		return nil, fmt.Errorf("--engines %q: give none, process, or lab:NAME", flag)
	}
	dir, err := filepath.Abs(filepath.Join(dataDir, "engines"))
	return process.Machine{Dir: dir, Weir: self}, err
}
