package port

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// Conn is a connection that holds a place of a room. It gives the place back when it is closed: by its owner, or by the
// room, which needs the place for another connection.
type Conn struct {
	net.Conn

	mu     sync.Mutex
	closed bool
	place  *place // nil: it holds none
}

// Listener accepts connections. Each of them takes a place of the room.
type Listener struct {
	net.Listener
	room *Room
}

// Listen limits the number of connections that a listener has open.
func Listen(listener net.Listener, room *Room) *Listener { return &Listener{listener, room} }

// Accept returns a *Conn. It does not wait for a free place: it closes a connection that finds none, and accepts the
// next.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn, err := Admit(raw, l.room); err == nil {
			return conn, nil
		}
	}
}

// Admit takes a place of a room for a connection. The address of the client is the holder. If there is no place, Admit
// closes the connection. Errors: ErrFull, net.ErrClosed.
func Admit(raw net.Conn, room *Room) (*Conn, error) {
	conn := &Conn{Conn: raw}
	if err := conn.Move(room, HolderOf(raw.RemoteAddr().String())); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Move takes a place in another room for the connection, and gives back the place that it had. Errors: ErrFull,
// net.ErrClosed.
func (c *Conn) Move(to *Room, holder string) error {
	next, err := to.take(holder, c)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		next.giveBack()
		return net.ErrClosed
	}
	if c.place != nil {
		c.place.giveBack()
	}
	c.place = next
	return nil
}

// Close closes the connection and gives its place back.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.place != nil {
		c.place.giveBack()
		c.place = nil
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// Work says that the controller works for the connection, so that the room does not close it. Each call needs a call of
// Rest.
func (c *Conn) Work() { c.tell((*place).work) }

// Rest ends what Work began. After the last Rest, the connection waits for its client again.
func (c *Conn) Rest() { c.tell((*place).rest) }

// Trust says that a user has logged in over the connection. The room closes connections without a login first.
func (c *Conn) Trust() { c.tell((*place).trust) }

// tell does nothing if the connection holds no place, or is nil because no Listener accepted it.
func (c *Conn) tell(what func(*place)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.place != nil {
		what(c.place)
	}
}

// HolderOf returns the holder for an address. It is the address itself for IPv4, and the /64 for IPv6: an IPv6 host can
// choose any address of its /64.
func HolderOf(address string) string {
	if pair, err := netip.ParseAddrPort(address); err == nil {
		address = pair.Addr().String()
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64)
	return network.String()
}

type key struct{}

// With returns a context in which Of finds the connection.
func With(ctx context.Context, conn *Conn) context.Context {
	return context.WithValue(ctx, key{}, conn)
}

// Of returns the connection of a request; nil if the connection holds no place.
func Of(ctx context.Context) *Conn {
	conn, _ := ctx.Value(key{}).(*Conn)
	return conn
}
