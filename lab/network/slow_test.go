package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/weir-lb/weir/lab/topology"
)

func TestHandshakeOverASlowLinkTakesItsRoundTrip(t *testing.T) {
	if err := CheckRoot(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	n, err := Create(fmt.Sprintf("slow-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})
	var spaces [2]*Namespace
	for i, name := range []string{"near", "far"} {
		if spaces[i], err = n.Attach(topology.Node{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	spans := map[netip.Addr]time.Duration{netip.MustParseAddr("198.18.0.11"): 20 * time.Millisecond,
		netip.MustParseAddr("198.18.0.12"): 200 * time.Millisecond}
	link, err := Slow(spaces[0], spaces[1], netip.MustParsePrefix("198.18.0.1/24"), spans)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	}()
	for address, span := range spans {
		var listener net.Listener
		if err := spaces[1].Run(func() (err error) {
			listener, err = net.Listen("tcp", netip.AddrPortFrom(address, 80).String())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		best := time.Hour
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			begun := time.Now()
			connection, err := spaces[0].Dial(ctx, "tcp", listener.Addr().String())
			best = min(best, time.Since(begun))
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			connection.Close()
		}
		if best < span || best > span*11/10 {
			t.Errorf("the fastest handshake took %v, and the round trip is %v", best, span)
		}
		if held := link.RoundTrip(address); held < span {
			t.Errorf("packets were held for %v, and the round trip is %v", held, span)
		}
	}
}
