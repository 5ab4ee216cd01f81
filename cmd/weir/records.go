package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/logs/store"
)

// recordsCommand is the record store. Controllers start it; it is hidden because operators do not.
func recordsCommand() *cobra.Command {
	config := store.Config{Now: time.Now}
	var days, diskMiB, requestDays, requestDiskMiB, memoryMiB, reserveMiB int
	command := &cobra.Command{
		Use:   "records",
		Short: "Run the record store of a controller: it ends when its standard input ends",
		Args:  arguments(), Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			config.Retention = time.Duration(days) * 24 * time.Hour
			config.DiskBytes, config.ReserveBytes = int64(diskMiB)<<20, uint64(reserveMiB)<<20
			config.Requests = store.Budget{Retention: time.Duration(requestDays) * 24 * time.Hour,
				DiskBytes: int64(requestDiskMiB) << 20}
			config.Log = slog.New(slog.NewTextHandler(command.ErrOrStderr(), nil))
			return store.Run(command.Context(), config, int64(memoryMiB)<<20, command.InOrStdin())
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.Dir, "dir", "/var/lib/weir/controller/records", "directory of the rows and the socket")
	flags.IntVar(&days, "days", 30, "how many days events and audit entries are kept")
	flags.IntVar(&diskMiB, "disk-mib", 2048, "how much these may take, in MiB: the oldest days go first")
	flags.IntVar(&requestDays, "request-days", 7, "how many days records of requests and connections are kept")
	flags.IntVar(&requestDiskMiB, "request-disk-mib", 10240,
		"how much these may take, in MiB: the oldest days go first")
	flags.IntVar(&memoryMiB, "memory-mib", 256, "memory for buffers and caches, in MiB")
	flags.IntVar(&reserveMiB, "reserve-mib", 256,
		"with less free space on the disk than this, no rows are taken, in MiB; none of requests and connections "+
			"with less than four times as much")
	return command
}
