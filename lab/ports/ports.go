// Package ports finds ports of this host for what will listen there. A port that the kernel chooses, as for the address
// 127.0.0.1:0, serves for a socket that stays open. As soon as it is closed, the kernel may give its port to anybody's
// connection.
package ports

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

// Free returns wanted if nobody listens there, otherwise a free port. 0 means any port. No other process gets a port
// that was returned here, for as long as this process lives.
func Free(host string, wanted int) (int, error) {
	if wanted != 0 {
		address := net.JoinHostPort(host, strconv.Itoa(wanted))
		if claimed.claim(address) && isFree(listenTCP, address) {
			return wanted, nil
		}
	}
	return anyOf(host, listenTCP)
}

// FreeDatagram returns a port of UDP that nobody uses on host. As Free, it returns a port once.
func FreeDatagram(host string) (int, error) { return anyOf(host, listenUDP) }

func listenTCP(address string) (io.Closer, error) { return net.Listen("tcp", address) }

func listenUDP(address string) (io.Closer, error) { return net.ListenPacket("udp", address) }

func isFree(listen func(address string) (io.Closer, error), address string) bool {
	socket, err := listen(address)
	return err == nil && socket.Close() == nil
}

// anyOf returns a free port of those that the kernel gives to no connection.
func anyOf(host string, listen func(address string) (io.Closer, error)) (int, error) {
	const attempts = 100
	first, end := listeningPorts()
	for range attempts {
		port := first + rand.IntN(end-first)
		address := net.JoinHostPort(host, strconv.Itoa(port))
		if claimed.claimFirst(address) && isFree(listen, address) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port on %s: %d ports from %d to %d were tried", host, attempts, first, end-1)
}

// listeningPorts are the unprivileged ports below, or else above, those that the kernel gives to connections.
func listeningPorts() (first, end int) {
	const unprivileged, enough, all = 1024, 1000, 1 << 16
	first, end = 32768, 61000 // where the kernel says nothing
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(string(text), &first, &end); err != nil {
			first, end = 32768, 61000
		}
	}
	switch low := 10000; {
	case first-low >= enough:
		return low, first
	case all-end >= enough:
		return end + 1, all
	default:
		return unprivileged, all
	}
}

// claimed are the addresses that this process may use. Without them, two processes that ask at the same moment would
// both find a port free.
var claimed claims

type claims struct {
	mu   sync.Mutex
	held map[string]net.Listener
}

// claim tells whether this process may use an address. The claim is a unix socket without a file, so that it ends with
// the process, however that ends.
func (c *claims) claim(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[address] != nil || c.take(address)
}

// claimFirst is claim, but refuses an address that this process was given before.
func (c *claims) claimFirst(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[address] == nil && c.take(address)
}

func (c *claims) take(address string) bool {
	socket, err := net.Listen("unix", "@weir-port-"+address)
	if err != nil {
		return false
	}
	if c.held == nil {
		c.held = map[string]net.Listener{}
	}
	c.held[address] = socket
	return true
}
