package h2

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"testing"
)

// unreadable is more than the kernel takes for a peer that reads nothing.
const unreadable = 256 << 20

func TestAttackEndsThoughItsVictimReadsNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	victim := make(chan net.Conn, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = conn.Read(make([]byte, 1)) // the attack has begun
			victim <- conn
		}
		cancel()
	}()
	attack := Attack{begin: func(c *Client) { c.out.Write(bytes.Repeat([]byte{0}, unreadable)) }}
	from, to := netip.MustParseAddrPort("127.0.0.1:0"), netip.MustParseAddrPort(listener.Addr().String())
	end, err := attack.Run(ctx, from, to)
	if err != nil || end.Told {
		t.Errorf("%+v: %v", end, err)
	}
	(<-victim).Close()
}
