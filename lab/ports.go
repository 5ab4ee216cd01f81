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
