package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"strconv"
	"strings"
	"time"
)

// MailServer is where mail is handed in.
type MailServer struct {
	Host     string
	Port     int
	From     mail.Address
	Username string // empty: without a login
	Password string
	Plain    bool // without TLS
}

// smtpsPort is where TLS begins at once (RFC 8314 §3.3); at other ports it begins with STARTTLS.
const smtpsPort = 465

// Mail sends a notice by mail once. to and copies are lists as in the header of a mail.
func (s *Sender) Mail(ctx context.Context, by MailServer, to, copies string, notice *Notice) Result {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	began := s.Now()
	err := s.mail(ctx, by, to, copies, notice)
	answer := ""
	if err == nil {
		answer = "accepted by " + by.Host
	}
	return s.result(began, answer, err)
}

func (s *Sender) mail(ctx context.Context, by MailServer, to, copies string, notice *Notice) error {
	recipients, err := mail.ParseAddressList(to)
	if err != nil {
		return fmt.Errorf("to_emails: %w", err)
	}
	var copied []*mail.Address
	if copies != "" {
		if copied, err = mail.ParseAddressList(copies); err != nil {
			return fmt.Errorf("cc_emails: %w", err)
		}
	}
	client, err := s.connect(ctx, by)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Mail(by.From.Address); err != nil {
		return err
	}
	for _, recipient := range append(recipients, copied...) {
		if err := client.Rcpt(recipient.Address); err != nil {
			return fmt.Errorf("%s: %w", recipient.Address, err)
		}
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write(s.message(by.From, recipients, copied, notice)); err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return err
	}
	return client.Quit()
}

// connect connects to a mail server, encrypts the connection and logs in.
func (s *Sender) connect(ctx context.Context, by MailServer) (*smtp.Client, error) {
	conn, err := s.dialer().DialContext(ctx, "tcp", net.JoinHostPort(by.Host, strconv.Itoa(by.Port)))
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	secure := &tls.Config{ServerName: by.Host, MinVersion: tls.VersionTLS12}
	if by.Port == smtpsPort && !by.Plain {
		conn = tls.Client(conn, secure)
	}
	client, err := smtp.NewClient(conn, by.Host)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if err := s.introduce(client, by, secure); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

func (s *Sender) introduce(client *smtp.Client, by MailServer, secure *tls.Config) error {
	if err := client.Hello(s.hostName()); err != nil {
		return err
	}
	if by.Port != smtpsPort && !by.Plain {
		if offered, _ := client.Extension("STARTTLS"); !offered {
			return fmt.Errorf(
				"%s does not offer STARTTLS: to send in plain text, set disable_tls in email_configuration",
				by.Host)
		}
		if err := client.StartTLS(secure); err != nil {
			return err
		}
	}
	if by.Username == "" {
		return nil
	}
	return client.Auth(smtp.PlainAuth("", by.Username, by.Password, by.Host)) // refuses without TLS
}

func (s *Sender) hostName() string {
	if s.Host == "" {
		return "localhost"
	}
	return s.Host
}

// message is the mail. Names in it are encoded, so that they cannot make lines of their own in its head.
func (s *Sender) message(from mail.Address, to, copies []*mail.Address, notice *Notice) []byte {
	var text bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&text, "%s: %s\r\n", name, value) }
	header("From", from.String())
	header("To", joined(to))
	if len(copies) > 0 {
		header("Cc", joined(copies))
	}
	header("Subject", mime.QEncoding.Encode("utf-8", notice.Title()))
	header("Date", s.Now().UTC().Format(time.RFC1123Z))
	header("Message-ID", fmt.Sprintf("<%s.%s@%s>", notice.ID, rand.Text()[:8], s.hostName()))
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	text.WriteString("\r\n")
	body := quotedprintable.NewWriter(&text)
	_, _ = body.Write([]byte(notice.lines())) // a buffer takes all
	_ = body.Close()
	return text.Bytes()
}

func joined(list []*mail.Address) string {
	var all []string
	for _, one := range list {
		all = append(all, one.String())
	}
	return strings.Join(all, ", ")
}

// lines is the notice as text.
func (n *Notice) lines() string {
	var text strings.Builder
	for _, line := range [][2]string{
		{"", n.Summary}, {"", n.Reason}, {"", ""},
		{"Object", fmt.Sprintf("%s %s (%s)", n.Object.Type, n.Object.Name, n.Object.UUID)},
		{"Rule", n.Rule.Name}, {"Level", strings.TrimPrefix(n.Level, "ALERT_")}, {"State", n.Condition},
		{"Since", n.Since.UTC().Format(time.RFC3339)}, {"Event", n.Event}, {"Page", n.Path},
	} {
		switch value := oneLine(line[1]); {
		case line[0] == "":
			text.WriteString(value + "\r\n")
		case value != "":
			fmt.Fprintf(&text, "%-7s %s\r\n", line[0]+":", value)
		}
	}
	return text.String()
}
