package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-lb/weir/lab"
)

// profileSeconds is how long a profile of processor time is taken.
const profileSeconds = 20

// profiler takes profiles of a controller that runs with --profile.
type profiler struct {
	dir    string // where they go; empty: nobody wants any
	client http.Client
}

func newProfiler(dir string, of *lab.Controller) *profiler {
	return &profiler{dir: dir, client: http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", of.ProfileSocket())
		}}}}
}

// take writes one profile, such as heap, into a file of a name.
func (p *profiler) take(ctx context.Context, kind, name string) (err error) {
	if p.dir == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://controller/debug/pprof/"+kind, nil)
	if err != nil {
		return err
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return fmt.Errorf("profile %s: %w", kind, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("profile %s: %s", kind, answer.Status)
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, answer.Body)
	return err
}

// during takes a profile of processor time while something is done.
func (p *profiler) during(ctx context.Context, name string, do func() error) error {
	taken := make(chan error, 1)
	go func() { taken <- p.take(ctx, fmt.Sprintf("profile?seconds=%d", profileSeconds), name) }()
	return errors.Join(do(), <-taken)
}
