package lab

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/weir-lb/weir/lab/ports"
)

const (
	relayedMost  = 64 // connections at once; further ones are closed
	relayTimeout = 10 * time.Second
)

// Relay makes an address that only the host reaches reachable on this machine: at 127.0.0.1, and so for this machine's
// users alone. It passes bytes on, and knows nothing of what they mean. It prefers the wanted port, and ends with ctx.
func (h *Host) Relay(ctx context.Context, to string, wanted int) (address string, err error) {
	const loopback = "127.0.0.1"
	port, err := ports.Free(loopback, wanted)
	if err != nil {
		return "", err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go h.relayAll(ctx, listener, to)
	return listener.Addr().String(), nil
}

func (h *Host) relayAll(ctx context.Context, listener net.Listener, to string) {
	room := make(chan struct{}, relayedMost)
	for {
		near, err := listener.Accept()
		if ctx.Err() != nil {
			return
		}
		if err != nil { // such as too many open files: it may pass
			time.Sleep(100 * time.Millisecond)
			continue
		}
		select {
		case room <- struct{}{}:
			go func() {
				h.relay(ctx, near.(*net.TCPConn), to)
				<-room
			}()
		default:
			_ = near.Close()
		}
	}
}

// relay passes the bytes of one connection on, in both directions, until both have ended.
func (h *Host) relay(ctx context.Context, near *net.TCPConn, to string) {
	defer near.Close()
	dialing, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	connection, err := h.Dial(dialing, "tcp", to)
	if err != nil {
		return
	}
	defer connection.Close()
	far := connection.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]*net.TCPConn{{near, far}, {far, near}} {
		both.Go(func() {
			if _, err := io.Copy(way[1], way[0]); err != nil {
				_, _ = near.Close(), far.Close()
			}
			_ = way[1].CloseWrite()
		})
	}
	both.Wait()
}
