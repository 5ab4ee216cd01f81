package link

import (
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

const (
	// newcomersMax are connected at a time; one more is hung up on.
	newcomersMax = 256
	// newcomerPatience is how long a newcomer may take to join.
	newcomerPatience = 20 * time.Second
	// joinBytesMax fits a token, a name and a certificate request.
	joinBytesMax = 64 << 10
)

var errCrowded = errors.New("too many connections without an engine's certificate")

// newcomers are the connections whose client shows no certificate, which is all that whoever has not joined can do. A
// gRPC server of their own keeps what they may cost small: the limits of engines are for those who were let in.
type newcomers struct {
	address net.Addr
	arrived chan net.Conn // capacity newcomersMax, as there are places
	places  chan struct{}
	closed  chan struct{}
	close   func()
}

func newNewcomers(address net.Addr) *newcomers {
	n := &newcomers{
		address: address, arrived: make(chan net.Conn, newcomersMax), places: make(chan struct{}, newcomersMax),
		closed: make(chan struct{}),
	}
	n.close = sync.OnceFunc(func() { close(n.closed) })
	return n
}

// admit takes a connection over, if there is a place.
func (n *newcomers) admit(connection net.Conn, shown credentials.AuthInfo) error {
	select {
	case n.places <- struct{}{}:
	default:
		return errCrowded
	}
	leave := sync.OnceFunc(func() { <-n.places })
	patience := time.AfterFunc(newcomerPatience, func() { connection.Close(); leave() })
	n.arrived <- &newcomer{Conn: connection, shown: shown, leave: leave, patience: patience}
	return nil
}

// Accept, Close and Addr make newcomers the listener of their server.
func (n *newcomers) Accept() (net.Conn, error) {
	select {
	case connection := <-n.arrived:
		return connection, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *newcomers) Close() error {
	n.close()
	return nil
}

func (n *newcomers) Addr() net.Addr { return n.address }

// newcomer is a connection after its TLS handshake.
type newcomer struct {
	net.Conn
	shown    credentials.AuthInfo
	leave    func()
	patience *time.Timer
}

func (n *newcomer) Close() error {
	n.patience.Stop()
	n.leave()
	return n.Conn.Close()
}

// door does the TLS handshake of every connection, keeps those of engines and sends the others to the newcomers.
type door struct {
	credentials.TransportCredentials
	newcomers *newcomers
}

func (d door) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	connection, shown, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	if info, ok := shown.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
		return connection, shown, nil
	}
	if err := d.newcomers.admit(connection, shown); err != nil {
		return nil, nil, errors.Join(err, connection.Close())
	}
	return nil, nil, credentials.ErrConnDispatched
}

// inside takes connections as the door left them.
type inside struct {
	credentials.TransportCredentials
}

func (inside) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	guest, ok := raw.(*newcomer)
	if !ok {
		return nil, nil, errors.New("a connection came past the door")
	}
	return guest, guest.shown, nil
}
