package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"
)

// profileSocket is in the data directory, which only the user of the controller may enter.
const profileSocket = "profile.sock"

// listenProfile opens the socket of serveProfile. It is a file: who may open it may read the memory of this process by
// other means, too.
func listenProfile(ctx context.Context, dataDir string) (net.Listener, error) {
	path := filepath.Join(dataDir, profileSocket)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--profile: the socket of an earlier run is in the way: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("--profile: %w", err), listener.Close())
	}
	return listener, nil
}

// serveProfile tells where memory and CPU time of this process go, in the form that `go tool pprof` reads, until ctx
// ends.
func serveProfile(ctx context.Context, listener net.Listener) error {
	pages := http.NewServeMux()
	pages.HandleFunc("/debug/pprof/", pprof.Index)
	pages.HandleFunc("/debug/pprof/profile", pprof.Profile)
	pages.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--profile: %w", err)
	}
	return nil
}
