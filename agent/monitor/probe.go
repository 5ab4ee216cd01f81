package monitor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// answerBytesMax is how much of an answer is searched: the first 2 KiB, as in Avi.
const answerBytesMax = 2048

// Probe makes one check over the network. It takes at most the monitor's receive timeout.
func Probe(ctx context.Context, target Target) Outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, target.Monitor.Timeout)
	defer cancel()
	outcome := probe(ctx, target)
	outcome.Took = time.Since(began)
	return outcome
}

func probe(ctx context.Context, target Target) Outcome {
	switch target.Monitor.Type {
	case plan.HTTP, plan.HTTPS:
		return probeHTTP(ctx, target)
	case plan.TCP:
		return probeTCP(ctx, target)
	case plan.Ping:
		return probePing(ctx, target)
	case plan.UDP:
		return probeUDP(ctx, target)
	case plan.DNS:
		return probeDNS(ctx, target)
	case plan.External:
		return probeExternal(ctx, target)
	case plan.SIP:
		return probeSIP(ctx, target)
	case plan.RADIUS:
		return probeRADIUS(ctx, target)
	case plan.SMTP, plan.SMTPS:
		return probeSMTP(ctx, target)
	case plan.POP3, plan.POP3S:
		return probePOP3(ctx, target)
	case plan.IMAP, plan.IMAPS:
		return probeIMAP(ctx, target)
	case plan.FTP, plan.FTPS:
		return probeFTP(ctx, target)
	case plan.LDAP, plan.LDAPS:
		return probeLDAP(ctx, target)
	case plan.GRPC:
		return probeGRPC(ctx, target)
	default:
		return Outcome{Reason: fmt.Sprintf("this engine has no health monitor of type %d", target.Monitor.Type)}
	}
}

// connect opens a connection that ends with ctx.
func connect(ctx context.Context, target Target) (*net.TCPConn, error) {
	dialer := net.Dialer{KeepAlive: -1}
	connection, err := dialer.DialContext(ctx, "tcp", target.at().String())
	if err != nil {
		return nil, err
	}
	endWith(ctx, connection)
	return connection.(*net.TCPConn), nil
}

// open connects, and begins TLS if secure.
func open(ctx context.Context, target Target, secure bool, protocols ...string) (net.Conn, error) {
	connection, err := connect(ctx, target)
	if err != nil || !secure {
		return connection, err
	}
	return encrypt(ctx, connection, clientTLS(target, protocols...))
}

// encrypt begins TLS on a connection. If that fails, it closes the connection.
func encrypt(ctx context.Context, connection net.Conn, config *tls.Config) (net.Conn, error) {
	encrypted := tls.Client(connection, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		connection.Close()
		return nil, err
	}
	return encrypted, nil
}

// clientTLS is how a monitor uses TLS. Without a PKI profile it does not verify certificates: a monitor only asks
// whether a server works. With one it verifies the chain, and no name.
func clientTLS(target Target, protocols ...string) *tls.Config {
	from := &target.Monitor.TLS
	name := cmp.Or(from.ServerName, target.ServerName)
	if _, err := netip.ParseAddr(target.Hostname); name == "" && err != nil {
		name = target.Hostname
	}
	config := &tls.Config{
		ServerName: name, InsecureSkipVerify: true, MinVersion: from.MinVersion, MaxVersion: from.MaxVersion,
		CipherSuites: from.Suites, NextProtos: protocols,
	}
	if from.Authorities != nil {
		config.VerifyConnection = func(state tls.ConnectionState) error { return verify(state, from.Authorities) }
	}
	if from.Certificate != nil {
		config.Certificates = []tls.Certificate{*from.Certificate}
	}
	return config
}

func verify(state tls.ConnectionState, authorities *x509.CertPool) error {
	options := x509.VerifyOptions{Roots: authorities, Intermediates: x509.NewCertPool()}
	for _, certificate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(certificate)
	}
	if _, err := state.PeerCertificates[0].Verify(options); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// conversationBytesMax is how much a server may say in all.
const conversationBytesMax = 64 << 10

var errTooLong = fmt.Errorf("its answers are longer than %d bytes", conversationBytesMax)

// brief is a connection on which the server may say only so much.
type brief struct {
	net.Conn
	left int
}

func (b *brief) Read(into []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLong
	}
	n, err := b.Conn.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}

// endWith makes pending reads and writes fail when ctx ends: at its deadline, or because the agent stops.
func endWith(ctx context.Context, socket interface{ SetDeadline(time.Time) error }) {
	context.AfterFunc(ctx, func() { socket.SetDeadline(time.Unix(1, 0)) })
}

// failed is the outcome of a check that failed in the network.
func failed(target Target, err error) Outcome {
	return Outcome{Reason: explain(target, err)}
}

func explain(target Target, err error) string {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var errno syscall.Errno
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no answer within %d ms", target.Monitor.Timeout.Milliseconds())
	case errors.As(err, &record):
		return "its answer is not TLS"
	case errors.As(err, &alert):
		return err.Error()
	case errors.Is(err, io.EOF):
		return "it closed the connection without an answer"
	case errors.Is(err, errTooLong):
		return errTooLong.Error()
	case errors.As(err, &untrusted):
		return "its certificate is not trusted: " + untrusted.Unwrap().Error()
	case errors.As(err, &errno):
		return errno.Error()
	default:
		return err.Error()
	}
}

// read appends to an answer until done accepts it, or until the response ends or the answer has its capacity.
func read(from io.Reader, answer []byte, done func(answer []byte) bool) ([]byte, error) {
	for len(answer) < cap(answer) {
		n, err := from.Read(answer[len(answer):cap(answer)])
		answer = answer[:len(answer)+n]
		if done(answer) {
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
	}
	return answer, nil
}

// holds tells whether the answer contains this text; an empty one is in no answer.
func holds(answer []byte, text string) bool {
	return text != "" && bytes.Contains(answer, []byte(text))
}
