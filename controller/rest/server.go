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

// timeouts are how long clients may take, and streams be silent.
type timeouts struct {
	request time.Duration // to send a request
	answer  time.Duration // to read the answer
	event   time.Duration // to read one event of a stream. A slower client is cut off
	ping    time.Duration // how long a stream is silent before it shows that it is there
}

var usualTimeouts = timeouts{
	request: 60 * time.Second, answer: 120 * time.Second, event: 10 * time.Second, ping: 15 * time.Second,
}

const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 120 * time.Second
	goodbyeTimeout = 5 * time.Second

	maxHeaderBytes = 64 << 10

	// descriptorsPart limits the clients of the API to one part in so many (1/8) of the file descriptors of this
	// process. The others are for engines.
	descriptorsPart = 8
)

// connections limits the open connections. When all places are taken, the controller closes a waiting connection for
// each new one: first of an address above its share, then one without a login, then the one that has waited longest. It
// never closes a connection that it works for.
var connections = port.Bounds{Places: 2048, Share: 256}

// Serve answers HTTPS on the listener until ctx ends. Then requests in progress get five seconds to finish.
func (a *API) Serve(ctx context.Context, listener net.Listener) error {
	portal := &portal{store: a.store}
	server := &http.Server{
		Handler:           a,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: portal.certificate},
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       a.timeouts.request,
		WriteTimeout:      a.timeouts.answer,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // handshakes that clients ended
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
	a.streams.endAll()
	goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	defer cancel()
	if err := server.Shutdown(goodbye); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

// withPlace puts the connection, with its place, into the context of its requests.
func withPlace(ctx context.Context, accepted net.Conn) context.Context {
	if secured, ok := accepted.(*tls.Conn); ok {
		accepted = secured.NetConn()
	}
	conn, _ := accepted.(*port.Conn)
	return port.With(ctx, conn)
}
