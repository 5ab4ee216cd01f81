package lab

import (
	"fmt"
	"net"
	"strconv"
)

// FreePort returns wanted if nobody listens there, otherwise a free port. 0 means any port.
func FreePort(host string, wanted int) (int, error) {
	for _, port := range []int{wanted, 0} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		free := listener.Addr().(*net.TCPAddr).Port
		return free, listener.Close()
	}
	return 0, fmt.Errorf("no free port on %s", host)
}

// FreeDatagramPort returns a port of UDP that nobody uses on host.
func FreeDatagramPort(host string) (int, error) {
	socket, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, fmt.Errorf("no free port of UDP on %s: %w", host, err)
	}
	return socket.LocalAddr().(*net.UDPAddr).Port, socket.Close()
}
