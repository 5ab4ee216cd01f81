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
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("profile %s: %w", kind, err)
	}
	return p.write(name, text)
}

// write writes a file of a name beside the profiles.
func (p *profiler) write(name string, text []byte) error {
	if p.dir == "" {
		return nil
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, name), text, 0o644)
}

// while takes a profile of some seconds while something is done: of processor time ("profile"), or a trace ("trace").
func (p *profiler) while(ctx context.Context, kind, name string, do func() error) error {
	taken := make(chan error, 1)
	go func() { taken <- p.take(ctx, fmt.Sprintf("%s?seconds=%d", kind, profileSeconds), name) }()
	return errors.Join(do(), <-taken)
}
