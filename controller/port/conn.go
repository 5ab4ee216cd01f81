package port

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// Conn is a connection that holds a place until it is closed, by its owner or for another one.
type Conn struct {
	net.Conn

	mu     sync.Mutex
	closed bool
	place  *place // nil: it holds none
}

// Listener has each connection that it accepts hold a place of a room.
type Listener struct {
	net.Listener
	room *Room
}

// Listen bounds the connections of a listener.
func Listen(listener net.Listener, room *Room) *Listener { return &Listener{listener, room} }

// Accept returns a *Conn. It does not wait for a place: what finds none is hung up on.
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

// Admit has a connection hold a place of a room in the name of its client's address, or closes it. Errors: ErrFull,
// net.ErrClosed.
func Admit(raw net.Conn, room *Room) (*Conn, error) {
	conn := &Conn{Conn: raw}
	if err := conn.Move(room, HolderOf(raw.RemoteAddr().String())); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Move has the connection hold a place of another room, and gives the one that it held back. Errors: ErrFull,
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

// Close gives the place back.
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

// Work keeps the connection from being closed for another one until Rest, once for each.
func (c *Conn) Work() { c.tell((*place).work) }

// Rest says that the connection waits for its client again.
func (c *Conn) Rest() { c.tell((*place).rest) }

// Trust has the connection go after those of strangers.
func (c *Conn) Trust() { c.tell((*place).trust) }

// tell does nothing for a connection that holds no place, or is nil: one that no listener of ours has accepted.
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

// HolderOf is in whose name an address holds places: an IPv6 host has a whole /64 to choose from.
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

// With has requests find their connection in their context.
func With(ctx context.Context, conn *Conn) context.Context {
	return context.WithValue(ctx, key{}, conn)
}

// Of is the connection of a request; nil where none holds a place.
func Of(ctx context.Context) *Conn {
	conn, _ := ctx.Value(key{}).(*Conn)
	return conn
}
