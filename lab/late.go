package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"
)

// lateConfig has nginx ask an application, which says where the file is. A unix socket is not part of any network, so
// it leads out of a namespace.
const lateConfig = `location / { proxy_pass http://unix:%[1]s; }
  location /prompt/ { internal; alias %[2]s/; }
  `

// BeLate makes a server slow: an application behind nginx takes that long for each answer from now on, until ctx ends.
// It returns when the first late answer has come.
func (n *Nginx) BeLate(ctx context.Context, by time.Duration) error {
	socket := filepath.Join(n.root, "late.sock")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("the application behind %s: %w", n.Name, err)
	}
	application := &http.Server{Handler: late(by), ReadHeaderTimeout: time.Minute}
	go func() { _ = application.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = application.Close() })
	n.late = fmt.Sprintf(lateConfig, socket, filepath.Join(n.root, "html"))
	if _, err := n.configure(); err != nil {
		return err
	}
	if err := n.command.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return n.UntilReady(ctx, func(ctx context.Context) error {
		began := time.Now()
		if err := n.answers(ctx); err != nil {
			return err
		}
		if time.Since(began) < by {
			return errors.New("it still answers at once")
		}
		return nil
	})
}

// late is an application that thinks for a while.
func late(by time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(by):
			w.Header().Set("X-Accel-Redirect", "/prompt"+r.URL.Path)
		case <-r.Context().Done():
		}
	}
}
