package outward

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/syslog"
	"github.com/weir-lb/weir/logs/wire"
)

const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
)

// Client is for receivers that speak HTTP: it adds the headers, and follows no redirect, which could lead elsewhere.
func (a *Access) Client(dialer *net.Dialer) (*http.Client, error) {
	config, err := a.tls()
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout: requestTimeout,
		Transport: &adding{access: a, next: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: config,
			MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
			ResponseHeaderTimeout: requestTimeout, MaxResponseHeaderBytes: answerMost}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// adding adds headers and the token to each request.
type adding struct {
	access *Access
	next   http.RoundTripper
}

func (a *adding) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context()) // a RoundTripper must not change the one that it gets
	for name, value := range a.access.Headers {
		request.Header.Set(name, value)
	}
	if a.access.BearerFile != "" {
		token, err := os.ReadFile(a.access.BearerFile)
		if err != nil {
			return nil, fmt.Errorf("bearer_token_file: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return a.next.RoundTrip(request)
}

// CloseIdleConnections is what http.Client calls.
func (a *adding) CloseIdleConnections() { a.next.(*http.Transport).CloseIdleConnections() }

// tls is read anew for each connection: certificates change.
func (a *Access) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.ServerName}
	if a.CAFile != "" {
		text, err := os.ReadFile(a.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca_file: %s has no certificate in PEM", a.CAFile)
		}
	}
	if a.CertFile != "" {
		own, err := tls.LoadX509KeyPair(a.CertFile, a.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cert_file, key_file: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

// sender takes batches of rows. It is not safe for concurrent use.
type sender interface {
	// send returns how many rows the receiver will never take. It gives up when ctx ends.
	send(context.Context, []wire.Row) (skipped int, err error)
	Close() error
}

// open connects to a receiver.
func (t *Target) open(ctx context.Context, dialer *net.Dialer, host string) (sender, error) {
	switch t.at.Scheme {
	case otlpHTTP, otlpHTTPS:
		client, err := t.Client(dialer)
		if err != nil {
			return nil, err
		}
		to := *t.at
		to.Scheme = strings.TrimPrefix(to.Scheme, "otlp+")
		as := asLogs
		if t.sendsSpans() {
			as = asSpans
		}
		if to.Path == "" || to.Path == "/" {
			to.Path = as.path
		}
		return &otlp{client, to.String(), host, as}, nil
	}
	protocol, carrier, _ := strings.Cut(t.at.Scheme, "+")
	connection, err := t.dial(ctx, dialer, carrier)
	if err != nil {
		return nil, err
	}
	if carrier == "udp" {
		return &datagrams{connection, t.encoder(protocol, host, syslog.DatagramMost)}, nil
	}
	encode := t.encoder(protocol, host, frameMost)
	return newLasting(connection, func(row wire.Row) []byte {
		text := encode(row)
		switch {
		case text == nil:
			return nil
		case protocol == "syslog":
			return syslog.Framed(text)
		}
		return append(text, '\n')
	}), nil
}

// encoder writes a row within a number of bytes; nil: it cannot be made that short.
func (t *Target) encoder(protocol, host string, most int) func(wire.Row) []byte {
	switch {
	case t.form != nil:
		return func(row wire.Row) []byte { return t.form.encode(row, most) }
	case protocol == "syslog":
		return func(row wire.Row) []byte { return message(row, host, most) }
	}
	return func(row wire.Row) []byte { return object(row, wire.MaxValueBytes) }
}

func (t *Target) dial(ctx context.Context, dialer *net.Dialer, carrier string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if carrier == "tls" {
		config, err := t.tls()
		if err != nil {
			return nil, err
		}
		return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", t.at.Host)
	}
	return dialer.DialContext(ctx, carrier, t.at.Host)
}
