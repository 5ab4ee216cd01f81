package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/weir-lb/weir/controller/port"
)

const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 60 * time.Second
	answerTimeout  = 120 * time.Second
	idleTimeout    = 120 * time.Second
	goodbyeTimeout = 5 * time.Second

	maxHeaderBytes = 64 << 10

	// descriptorsPart of this process's descriptors at most are for clients of the API: engines have the others.
	descriptorsPart = 8
)

// connections may be open. Where more come, one that waits for its client is closed for each: of an address that has
// more than the share, before others; of whom nobody has logged in, before others; the one that waits longest. What is
// worked for stays.
var connections = port.Bounds{Places: 2048, Share: 256}

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
		ConnContext:       withPlace,
	}
	room := port.NewRoom("API on "+listener.Addr().String(), a.connections.Within(descriptorsPart), a.events)
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(port.Listen(listener, room), "", "") }()
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

// withPlace has requests find the place that their connection holds.
func withPlace(ctx context.Context, accepted net.Conn) context.Context {
	if secured, ok := accepted.(*tls.Conn); ok {
		accepted = secured.NetConn()
	}
	conn, _ := accepted.(*port.Conn)
	return port.With(ctx, conn)
}
