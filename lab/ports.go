package lab

import (
	"fmt"
	"net"
	"strconv"
	"sync"
)

// FreePort returns wanted if nobody listens there, otherwise a free port. 0 means any port. Another process that asks
// for a wanted port that was returned here gets another one, for as long as this process lives.
func FreePort(host string, wanted int) (int, error) {
	for _, port := range []int{wanted, 0} {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		if port != 0 && !claimed.claim(address) {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		free := listener.Addr().(*net.TCPAddr).Port
		return free, listener.Close()
	}
	return 0, fmt.Errorf("no free port on %s", host)
}

// claimed are the addresses that this process may use. Without them, two labs that start at the same moment would both
// find a port free.
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
	if c.held[address] != nil {
		return true
	}
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

// FreeDatagramPort returns a port of UDP that nobody uses on host.
func FreeDatagramPort(host string) (int, error) {
	socket, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, fmt.Errorf("no free port of UDP on %s: %w", host, err)
	}
	return socket.LocalAddr().(*net.UDPAddr).Port, socket.Close()
}
