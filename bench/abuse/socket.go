package abuse

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// patienceOfAttacker is how long an attacker waits for its connection, and for each message of a handshake.
const patienceOfAttacker = time.Second

// approach is how an attacker connects.
type approach struct {
	from, to netip.AddrPort
	secure   *tls.Config // nil: plain
	narrow   bool        // as from far away: small segments, a small receive buffer
}

// Sizes of buffers, as of connections over the internet. With loopback's own sizes the kernel would take a large object
// from the balancer at once. The buffers are small, because clients, balancer and servers share the kernel's memory for
// TCP.
const (
	farSegmentBytes = 536
	farReceiveBytes = 2 << 10
)

// connect opens a connection and sends something. The connection stays a bare descriptor, so that thousands of them
// cost this process nothing more.
func (a approach) connect(opening []byte) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = a.prepare(fd); err == nil {
		err = unix.Connect(fd, sockaddr(a.to))
	}
	if err == nil {
		err = a.say(fd, opening)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (a approach) prepare(fd int) error {
	wait := unix.NsecToTimeval(patienceOfAttacker.Nanoseconds())
	err := errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait), // of connect, too
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait),
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1),
	)
	if a.narrow {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, farSegmentBytes),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, farReceiveBytes))
	}
	return errors.Join(err, unix.Bind(fd, sockaddr(a.from)))
}

func (a approach) say(fd int, opening []byte) error {
	if a.secure == nil {
		return send(fd, opening)
	}
	session := tls.Client(stream(fd), a.secure)
	if err := session.Handshake(); err != nil {
		return err
	}
	_, err := session.Write(opening)
	return err
}

func sockaddr(at netip.AddrPort) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
}

func send(fd int, text []byte) error {
	return unix.Sendto(fd, text, unix.MSG_NOSIGNAL, nil)
}

// sendNow sends what the kernel takes without waiting.
func sendNow(fd int, text []byte) error {
	return unix.Sendto(fd, text, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
}

// isOver tells whether the other side has ended a connection, or broken it off.
func isOver(fd int) bool {
	asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	_, err := unix.Poll(asked, 0)
	return err == nil && asked[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

// isBroken tells whether an error of a non-blocking call means that the connection is closed.
func isBroken(err error) bool {
	return err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
}

// stream has TLS shake hands over a descriptor.
type stream int

func (s stream) Read(into []byte) (int, error) {
	count, err := unix.Read(int(s), into)
	if err == nil && count == 0 {
		err = io.EOF
	}
	return max(0, count), err
}

func (s stream) Write(text []byte) (int, error) {
	if err := send(int(s), text); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (stream) Close() error                     { return nil } // its owner closes the descriptor
func (stream) LocalAddr() net.Addr              { return nil }
func (stream) RemoteAddr() net.Addr             { return nil }
func (stream) SetDeadline(time.Time) error      { return nil }
func (stream) SetReadDeadline(time.Time) error  { return nil }
func (stream) SetWriteDeadline(time.Time) error { return nil }

// hello is the first thing that a client of TLS says.
func hello(config *tls.Config) []byte {
	var said recorder
	_ = tls.Client(&said, config).Handshake() // ends with the answer that never comes
	return said.text
}

// recorder keeps what is written and answers nothing.
type recorder struct {
	stream
	text []byte
}

func (r *recorder) Write(text []byte) (int, error) {
	r.text = append(r.text, text...)
	return len(text), nil
}

func (r *recorder) Read([]byte) (int, error) { return 0, io.EOF }
