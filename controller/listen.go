package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// listen opens a port. flag is the command-line flag with which an operator can choose another address; errors name it.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another process: stop it, or give another address with %s",
			address, flag)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("this user may not listen on %s: give a port above 1023 with %s", address, flag)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", flag, address, err)
	}
	return listener, nil
}

// reachable returns an address that another process can dial. If the listener listens on all addresses, that is the
// name of this host.
func reachable(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return address.String()
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return net.JoinHostPort(name, fmt.Sprint(tcp.Port))
}

// dialled returns the address at which engines find a listener. If the listener listens on all addresses, the host is
// empty.
func dialled(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return address.String()
	}
	return net.JoinHostPort("", fmt.Sprint(tcp.Port))
}
