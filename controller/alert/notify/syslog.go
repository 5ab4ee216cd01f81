package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/weir-lb/weir/controller/syslog"
)

// SyslogServer is a receiver of syslog.
type SyslogServer struct {
	Host        string
	Port        int
	UDP         bool
	Format      string // SYSLOG_LEGACY (RFC 3164), SYSLOG_RFC5424, or one whose message is the JSON of the notice
	TLS         bool
	Authorities *x509.CertPool   // nil: those of the machine
	VerifyName  bool             // of the server, in its certificate
	Certificate *tls.Certificate // of the controller; nil: none
	Hostname    string           // of the sender
}

// Syslog sends a notice to a server once. By TCP and TLS, nothing says that the server has taken it, only that it took
// the bytes.
func (s *Sender) Syslog(ctx context.Context, to SyslogServer, notice *Notice) Result {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	began := s.Now()
	sent, err := s.syslog(ctx, to, notice)
	answer := ""
	if err == nil {
		answer = fmt.Sprintf("sent %d bytes", sent)
	}
	return s.result(began, answer, err)
}

func (s *Sender) syslog(ctx context.Context, to SyslogServer, notice *Notice) (sent int, err error) {
	network := "tcp"
	message, err := s.record(to, notice)
	if to.UDP {
		network = "udp"
		message, err = s.datagram(to, notice)
	}
	if err != nil {
		return 0, err
	}
	if !to.UDP {
		message = syslog.Framed(message)
	}
	conn, err := s.dialer().DialContext(ctx, network, net.JoinHostPort(to.Host, strconv.Itoa(to.Port)))
	if err != nil {
		return 0, err
	}
	if to.TLS {
		conn = tls.Client(conn, to.tlsConfig())
	}
	deadline, _ := ctx.Deadline()
	if err = conn.SetDeadline(deadline); err == nil {
		sent, err = conn.Write(message)
	}
	return sent, errors.Join(err, conn.Close())
}

// tlsConfig verifies the chain of the server always, and its name if that is wanted.
func (to *SyslogServer) tlsConfig() *tls.Config {
	config := &tls.Config{ServerName: to.Host, RootCAs: to.Authorities, MinVersion: tls.VersionTLS12}
	if to.Certificate != nil {
		config.Certificates = []tls.Certificate{*to.Certificate}
	}
	if to.VerifyName {
		return config
	}
	config.InsecureSkipVerify = true // VerifyConnection verifies all but the name
	config.VerifyConnection = func(state tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, certificate := range state.PeerCertificates[1:] {
			between.AddCert(certificate)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: to.Authorities, Intermediates: between})
		return err
	}
	return config
}

// severities of RFC 5424 §6.2.1, by level.
var severities = map[string]int{"ALERT_HIGH": 2, "ALERT_MEDIUM": 4, "ALERT_LOW": 5}

// datagram is a record that a receiver over UDP takes as a whole. Texts of the notice that are too long are cut, so
// that what is JSON stays JSON.
func (s *Sender) datagram(to SyslogServer, notice *Notice) ([]byte, error) {
	for most := syslog.DatagramMost; ; most /= 2 {
		message, err := s.record(to, notice.shortened(most))
		if err != nil || len(message) <= syslog.DatagramMost {
			return message, err
		}
		if most == 0 {
			return nil, errors.New("the alert does not fit into a datagram")
		}
	}
}

// record is a notice as one record of syslog.
func (s *Sender) record(to SyslogServer, notice *Notice) ([]byte, error) {
	severity, known := severities[notice.Level]
	if !known || notice.Condition != "FIRING" {
		severity = syslog.Informational
	}
	host := to.Hostname
	if host == "" {
		host = s.hostName()
	}
	at := s.Now().UTC()
	text := notice.Title()
	if notice.Reason != "" {
		text += " (" + oneLine(notice.Reason) + ")"
	}
	if to.Format == "SYSLOG_LEGACY" {
		return fmt.Appendf(nil, "<%d>%s %s weir[%d]: %s", syslog.Priority(severity), at.Format(time.Stamp),
			syslog.Field(host, 255), os.Getpid(), text), nil
	}
	if to.Format != "SYSLOG_RFC5424" {
		body, err := json.Marshal(notice)
		if err != nil {
			return nil, err
		}
		text = string(body)
	}
	return []byte(syslog.Header(severity, at, host, strconv.Itoa(os.Getpid()), "ALERT") + text), nil
}
