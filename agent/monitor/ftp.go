package monitor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/agent/plan"
)

const (
	// implicitPort is the port at which a server of FTPS begins with TLS. At others the monitor asks for it (RFC 4217).
	implicitPort = 990
	// fileBytesMax is how much of a file is read. That is enough to see that the server works.
	fileBytesMax = 1 << 20
)

// probeFTP logs in and gets a file (RFC 959).
func probeFTP(ctx context.Context, target Target) Outcome {
	secure := target.Monitor.Type == plan.FTPS
	config := clientTLS(target)
	config.ClientSessionCache = new(oneSession)
	control, err := connect(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	session := ftp{ctx: ctx, target: target, local: control.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()}
	var stream net.Conn = control
	if secure {
		session.tls = config
	}
	if secure && target.Port == implicitPort {
		if stream, err = encrypt(ctx, control, config); err != nil {
			return failed(target, err)
		}
	}
	session.client = textproto.NewConn(&brief{stream, conversationBytesMax})
	defer func() { session.client.Close() }()
	if _, _, err := session.client.ReadResponse(220); err != nil {
		return refused(target, "the connection", err)
	}
	if secure && target.Port != implicitPort {
		if _, problem := ask(session.client, target, 234, "AUTH TLS"); problem != nil {
			return *problem
		}
		if stream, err = encrypt(ctx, control, config); err != nil {
			return failed(target, err)
		}
		session.client = textproto.NewConn(&brief{stream, conversationBytesMax})
	}
	if problem := session.get(); problem != nil {
		return *problem
	}
	session.client.PrintfLine("QUIT")
	return Outcome{Up: true}
}

// oneSession keeps the session of the control connection. Servers want it to be resumed for the connection of the file:
// that shows that both are from one client. Its name is no matter: it may have the port.
type oneSession struct{ state *tls.ClientSessionState }

func (o *oneSession) Get(string) (*tls.ClientSessionState, bool) { return o.state, o.state != nil }

func (o *oneSession) Put(_ string, state *tls.ClientSessionState) { o.state = state }

// ftp is a session with a server.
type ftp struct {
	ctx    context.Context
	target Target
	client *textproto.Conn
	local  netip.Addr  // of this end
	tls    *tls.Config // nil: files come in plain
}

func (f *ftp) get() *Outcome {
	if problem := f.login(); problem != nil {
		return problem
	}
	commands := []struct {
		code int
		line string
	}{{200, "TYPE I"}, {200, "PBSZ 0"}, {200, "PROT P"}}
	if f.tls == nil {
		commands = commands[:1]
	}
	for _, command := range commands {
		if _, problem := ask(f.client, f.target, command.code, command.line); problem != nil {
			return problem
		}
	}
	if f.target.Monitor.FTP.Active {
		return f.getActively()
	}
	return f.getPassively()
}

func (f *ftp) login() *Outcome {
	user := cmp.Or(f.target.Monitor.Login.Username, "anonymous")
	password := cmp.Or(f.target.Monitor.Login.Password, "weir-monitor@")
	if err := f.client.PrintfLine("USER %s", user); err != nil {
		return new(failed(f.target, err))
	}
	code, text, err := f.client.ReadResponse(0)
	if err != nil {
		return new(refused(f.target, "USER", err))
	}
	switch code {
	case 230: // no password is needed
		return nil
	case 331:
		_, problem := ask(f.client, f.target, 230, "PASS "+password)
		return problem
	default:
		return &Outcome{Reason: fmt.Sprintf("its answer to USER: %d %s", code, firstLine(text))}
	}
}

// getPassively opens the connection for the file: to the server's own address, whatever address it names.
func (f *ftp) getPassively() *Outcome {
	port, problem := f.passivePort()
	if problem != nil {
		return problem
	}
	target := f.target
	target.Port = port
	data, err := connect(f.ctx, target)
	if err != nil {
		return new(failed(f.target, err))
	}
	defer data.Close()
	return f.retrieve(func() (net.Conn, error) { return data, nil })
}

// passivePort asks where the server listens: by EPSV for IPv6 (RFC 2428), by PASV for IPv4.
func (f *ftp) passivePort() (uint16, *Outcome) {
	command, code, parse := "PASV", 227, portOfPASV
	if f.target.Address.Unmap().Is6() {
		command, code, parse = "EPSV", 229, portOfEPSV
	}
	text, problem := ask(f.client, f.target, code, command)
	if problem != nil {
		return 0, problem
	}
	port, err := parse(text)
	if err != nil {
		return 0, &Outcome{Reason: fmt.Sprintf("its answer to %s names no port: %s", command, firstLine(text))}
	}
	return port, nil
}

// portOfPASV reads "Entering Passive Mode (h1,h2,h3,h4,p1,p2)". Some servers leave the brackets out.
func portOfPASV(text string) (uint16, error) {
	numbers := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) < 6 {
		return 0, errors.New("not six numbers")
	}
	high, err := strconv.ParseUint(numbers[len(numbers)-2], 10, 8)
	if err != nil {
		return 0, err
	}
	low, err := strconv.ParseUint(numbers[len(numbers)-1], 10, 8)
	return uint16(high<<8 | low), err
}

// portOfEPSV reads "Entering Extended Passive Mode (|||port|)".
func portOfEPSV(text string) (uint16, error) {
	_, inside, _ := strings.Cut(text, "(|||")
	digits, _, _ := strings.Cut(inside, "|")
	port, err := strconv.ParseUint(digits, 10, 16)
	return uint16(port), err
}

// getActively has the server open the connection for the file. It takes one from the server's address only.
func (f *ftp) getActively() *Outcome {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(f.local, 0)))
	if err != nil {
		return new(failed(f.target, err))
	}
	defer listener.Close()
	endWith(f.ctx, listener)
	at := listener.Addr().(*net.TCPAddr).AddrPort()
	command := fmt.Sprintf("PORT %s,%d,%d", strings.ReplaceAll(f.local.String(), ".", ","), at.Port()>>8, at.Port()&255)
	if f.local.Is6() {
		command = fmt.Sprintf("EPRT |2|%s|%d|", f.local.WithZone(""), at.Port())
	}
	if _, problem := ask(f.client, f.target, 200, command); problem != nil {
		return problem
	}
	return f.retrieve(func() (net.Conn, error) {
		for {
			data, err := listener.AcceptTCP()
			if err != nil {
				return nil, err
			}
			if data.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() == f.target.Address.Unmap() {
				endWith(f.ctx, data)
				return data, nil
			}
			data.Close()
		}
	})
}

// retrieve asks for the file and reads it.
func (f *ftp) retrieve(connection func() (net.Conn, error)) *Outcome {
	if _, problem := ask(f.client, f.target, 1, "RETR "+f.target.Monitor.FTP.Filename); problem != nil {
		return problem
	}
	data, err := connection()
	if err != nil {
		return new(failed(f.target, err))
	}
	defer data.Close()
	if f.tls != nil {
		if data, err = encrypt(f.ctx, data, f.tls); err != nil {
			return new(failed(f.target, err))
		}
	}
	switch _, err := io.CopyN(io.Discard, data, fileBytesMax); {
	case err == nil: // there is more of it
		return nil
	case !errors.Is(err, io.EOF):
		return new(failed(f.target, err))
	}
	data.Close()
	if _, _, err := f.client.ReadResponse(2); err != nil {
		return new(refused(f.target, "RETR", err))
	}
	return nil
}
