package link

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/weir-lb/weir/controller/port"
)

const (
	// newcomerPatience is how long a newcomer may take to join.
	newcomerPatience = 20 * time.Second
	// joinBytesMax fits a token, a name and a certificate request.
	joinBytesMax = 64 << 10
)

var (
	errCrowded  = errors.New("too many connections without an engine's certificate")
	errPastDoor = errors.New("a connection skipped the TLS handshake of the engine port")
)

// newcomers are the connections whose client shows no engine's certificate. All they can do is join. They have a gRPC
// server of their own, with lower limits than those for engines.
type newcomers struct {
	address net.Addr
	room    *port.Room
	arrived chan *newcomer // one for each place; if it is full, the connection is closed
	closed  chan struct{}
	close   func()
}

func newNewcomers(address net.Addr, room *port.Room) *newcomers {
	n := &newcomers{
		address: address, room: room, arrived: make(chan *newcomer, newcomersBounds.Places),
		closed: make(chan struct{}),
	}
	n.close = sync.OnceFunc(func() { close(n.closed) })
	return n
}

// admit takes a connection over. raw is the connection below its TLS.
func (n *newcomers) admit(connection net.Conn, raw *port.Conn, shown credentials.TLSInfo) error {
	if err := raw.Move(n.room, port.HolderOf(raw.RemoteAddr().String())); err != nil {
		return err
	}
	patience := time.AfterFunc(newcomerPatience, func() { connection.Close() })
	select {
	case n.arrived <- &newcomer{Conn: connection, shown: joining{shown, raw}, patience: patience}:
		return nil
	default:
		patience.Stop()
		return errCrowded
	}
}

// Accept, Close and Addr implement net.Listener, for the server of newcomers.
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
	shown    joining
	patience *time.Timer
}

func (n *newcomer) Close() error {
	n.patience.Stop()
	return n.Conn.Close()
}

// joining is what the server of newcomers knows about a connection.
type joining struct {
	credentials.TLSInfo
	conn *port.Conn
}

// work keeps the connection of a call to Join open: the call uses the token up, so the client cannot try again.
func work(ctx context.Context) (done func()) {
	from, _ := peer.FromContext(ctx)
	if newcomer, ok := from.AuthInfo.(joining); ok {
		newcomer.conn.Work()
		return newcomer.conn.Rest
	}
	return func() {}
}

// door does the TLS handshake of every connection. It passes connections of engines on, and gives the others to
// newcomers.
type door struct {
	credentials.TransportCredentials
	engines   *port.Room
	newcomers *newcomers
}

func (d door) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	connection, shown, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	if err := d.seat(connection, raw, shown); err != nil {
		return nil, nil, errors.Join(err, connection.Close())
	}
	if !isEngine(shown) {
		return nil, nil, credentials.ErrConnDispatched
	}
	return connection, shown, nil
}

// seat moves a connection from the places of unknown connections to those of its class.
func (d door) seat(connection, raw net.Conn, shown credentials.AuthInfo) error {
	conn, accepted := raw.(*port.Conn)
	info, secure := shown.(credentials.TLSInfo)
	if !accepted || !secure {
		return errPastDoor
	}
	if !isEngine(shown) {
		return d.newcomers.admit(connection, conn, info)
	}
	err := conn.Move(d.engines, info.State.VerifiedChains[0][0].Subject.CommonName)
	conn.Work() // until it is closed
	return err
}

func isEngine(shown credentials.AuthInfo) bool {
	info, ok := shown.(credentials.TLSInfo)
	return ok && len(info.State.VerifiedChains) > 0
}

// inside takes connections whose TLS handshake the door has done.
type inside struct {
	credentials.TransportCredentials
}

func (inside) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	guest, ok := raw.(*newcomer)
	if !ok {
		return nil, nil, errPastDoor
	}
	return guest, guest.shown, nil
}
