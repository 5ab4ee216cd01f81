package link

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
)

const (
	dialTimeout = 5 * time.Second
	callTimeout = 10 * time.Second
	// A frozen controller is noticed within the sum of these. 10 s is the shortest interval that grpc-go allows.
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
	// directiveBytesMax is more than any Plan that an engine takes. A Plan that is too long is read, so that the agent
	// can refuse it with a reason; a longer message would end the session each time.
	directiveBytesMax = 256 << 20
)

// errStranger says that a controller is not the one that a token came from.
var errStranger = errors.New(
	"it is not the controller that made this token (another CA); check --controller and --token")

// dial connects, does TLS, and gives the result to gRPC as its only connection. Because both happen here, errors stay
// plain and we control the retries.
func dial(ctx context.Context, address string, config *tls.Config) (*grpc.ClientConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := &tls.Dialer{NetDialer: &net.Dialer{KeepAlive: -1}, Config: config}
	socket, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, unreachable(err)
	}
	socket, err = listenFirst(ctx, socket)
	if err != nil {
		return nil, err
	}
	var used atomic.Bool
	once := func(context.Context, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, net.ErrClosed
		}
		return socket, nil
	}
	connection, err := grpc.NewClient("passthrough:///"+enrollment.ControllerName,
		grpc.WithContextDialer(once),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // TLS is done already, below gRPC
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(directiveBytesMax)),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		socket.Close()
		return nil, fmt.Errorf("cannot speak gRPC: %w", err)
	}
	connection.Connect()
	return connection, nil
}

// unreachable says why the controller was not reached. Most often a clock is wrong, so that a certificate is not valid
// yet, or not any more. Go's text for that changes every second, and would be logged each time.
func unreachable(err error) error {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	if !ok || invalid.Reason != x509.Expired {
		return fmt.Errorf("cannot reach the controller: %w", err)
	}
	return fmt.Errorf("the controller's certificate is not good by this engine's clock, but %s: set the clock right",
		validity(invalid.Cert))
}

func validity(certificate *x509.Certificate) string {
	return fmt.Sprintf("from %s until %s", certificate.NotBefore.UTC().Format(time.RFC3339),
		certificate.NotAfter.UTC().Format(time.RFC3339))
}

// listenFirst waits until the controller sends something. With TLS 1.3 the controller checks our certificate after the
// handshake has succeeded on this side. Its alert would be lost if we sent something meanwhile: the kernel resets a
// connection that is closed with unread bytes.
func listenFirst(ctx context.Context, socket net.Conn) (net.Conn, error) {
	first := make([]byte, 1)
	deadline, _ := ctx.Deadline()
	err := socket.SetReadDeadline(deadline)
	if err == nil {
		_, err = socket.Read(first)
	}
	if err == nil {
		err = socket.SetReadDeadline(time.Time{})
	}
	if err == nil {
		return heard{socket, io.MultiReader(bytes.NewReader(first), socket)}, nil
	}
	socket.Close()
	if _, alert, found := strings.Cut(err.Error(), "remote error: "); found {
		return nil, fmt.Errorf("%w: %s", errUnaccepted, alert)
	}
	return nil, fmt.Errorf("no answer from the controller: %w", err)
}

// heard is a connection whose first byte was read already.
type heard struct {
	net.Conn
	stream io.Reader
}

func (h heard) Read(into []byte) (int, error) { return h.stream.Read(into) }

// joinTLS trusts whoever shows a chain that ends in the CA with this fingerprint.
func joinTLS(fingerprint [sha256.Size]byte, now func() time.Time) *tls.Config {
	config := baseTLS(now)
	config.InsecureSkipVerify = true // VerifyConnection is stricter
	config.VerifyConnection = func(shown tls.ConnectionState) error {
		for _, certificate := range shown.PeerCertificates {
			if sha256.Sum256(certificate.Raw) == fingerprint {
				return verify(shown.PeerCertificates[0], certificate, now())
			}
		}
		return errStranger
	}
	return config
}

func verify(leaf, authority *x509.Certificate, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, DNSName: enrollment.ControllerName, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// mutualTLS shows who we are and trusts our own fleet's CA only.
func mutualTLS(identity *state.Identity, now func() time.Time) *tls.Config {
	config := baseTLS(now)
	config.RootCAs = x509.NewCertPool()
	for _, authority := range identity.Authorities {
		config.RootCAs.AddCert(authority)
	}
	config.Certificates = []tls.Certificate{{
		Certificate: [][]byte{identity.Certificate.Raw}, PrivateKey: identity.Key, Leaf: identity.Certificate,
	}}
	return config
}

func baseTLS(now func() time.Time) *tls.Config {
	return &tls.Config{Time: now, MinVersion: tls.VersionTLS13, ServerName: enrollment.ControllerName,
		NextProtos: []string{"h2"}}
}

var (
	// errDisowned says that the certificate opens nothing any more: the engine was deleted, or the certificate is not
	// from the last join under its name.
	errDisowned = errors.New("the controller disowns this engine")
	// errUnaccepted says that the controller does not accept the certificate: by its clock the certificate has expired.
	errUnaccepted = errors.New("the controller does not accept this engine's certificate")
)

// plain says what gRPC says in the words of an operator's line.
func plain(err error) error {
	told := status.Convert(err)
	switch told.Code() {
	case codes.Unavailable:
		return errors.New("the controller went away")
	case codes.DeadlineExceeded:
		return errors.New("the controller does not answer")
	case codes.PermissionDenied:
		return fmt.Errorf("%w: %s", errDisowned, told.Message())
	default:
		return fmt.Errorf("controller: %s", told.Message())
	}
}
