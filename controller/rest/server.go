package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 60 * time.Second
	answerTimeout  = 120 * time.Second
	idleTimeout    = 120 * time.Second
	goodbyeTimeout = 5 * time.Second

	maxHeaderBytes = 64 << 10
	maxConnections = 2048 // more wait in the backlog
)

// Serve answers HTTPS on the listener until ctx ends; then requests at work get five seconds to finish.
func (a *API) Serve(ctx context.Context, listener net.Listener) error {
	portal := &portal{store: a.store}
	server := &http.Server{
		Handler:           a,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: portal.certificate},
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // handshakes that clients broke off
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(netutil.LimitListener(listener, maxConnections), "", "") }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	defer cancel()
	if err := server.Shutdown(goodbye); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
