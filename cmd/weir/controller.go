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
	engines, logs := byOperators, logsInStore
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
			if config.Records.Program, err = keepsLogs(logs, config.Records, self); err != nil {
				return err
			}
			controller.CollectEarly()
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
	flags.BoolVar(&config.AllowLocalReceivers, "allow-local-receivers", false,
		"let alerts, and what --outward names, be sent to addresses of this machine and of its link (loopback, link-local)")
	flags.StringVar(&config.OutwardFile, "outward", "",
		"file that says where else metrics, events, audit entries and records go (docs/outward.md)")
	flags.StringVar(&config.CountriesFile, "countries", "",
		"file that says in which country addresses are, read at the start: a database of MaxMind's format (*.mmdb), or "+
			"lines such as \"192.0.2.0/24,DE\" (docs/network-policies.md)")
	flags.BoolVar(&config.Profile, "profile", false,
		"tell where memory and processor time of the controller go, on <data-dir>/profile.sock (docs/operating.md)")
	flags.StringVar(&logs, "logs", logsInStore,
		"where events and audit entries are kept: \"store\" (the record store, in <data-dir>/records), "+
			"\"memory\" (the newest ones, until the controller ends)")
	flags.IntVar(&config.Records.Days, "logs-days", 30, "how many days the record store keeps them")
	flags.IntVar(&config.Records.DiskMiB, "logs-disk-mib", 2048,
		"how much of the disk they may take, in MiB; the oldest days go first, the last two days stay")
	flags.IntVar(&config.Records.RequestDays, "logs-request-days", 7,
		"how many days the record store keeps records of requests and connections")
	flags.IntVar(&config.Records.RequestDiskMiB, "logs-request-disk-mib", 10240,
		"how much of the disk these may take, in MiB; the oldest days go first, the last two days stay")
	flags.IntVar(&config.Records.MemoryMiB, "logs-memory-mib", 256,
		"memory of the record store for buffers and caches, in MiB")
	return command
}

const (
	logsInStore  = "store"
	logsInMemory = "memory"
)

// keepsLogs returns the program that is the record store; empty: none.
func keepsLogs(flag string, config controller.RecordStore, self string) (program string, err error) {
	switch {
	case flag == logsInMemory:
		return "", nil
	case flag != logsInStore:
		return "", fmt.Errorf("--logs %q: give store or memory", flag)
	case config.Days < 1 || config.Days > 3660:
		return "", fmt.Errorf("--logs-days %d: give 1 to 3660", config.Days)
	case config.DiskMiB < 64:
		return "", fmt.Errorf("--logs-disk-mib %d: give at least 64", config.DiskMiB)
	case config.RequestDays < 1 || config.RequestDays > 3660:
		return "", fmt.Errorf("--logs-request-days %d: give 1 to 3660", config.RequestDays)
	case config.RequestDiskMiB < 64:
		return "", fmt.Errorf("--logs-request-disk-mib %d: give at least 64", config.RequestDiskMiB)
	case config.MemoryMiB < 64:
		return "", fmt.Errorf("--logs-memory-mib %d: give at least 64", config.MemoryMiB)
	}
	return self, nil
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
