package monitor

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"github.com/weir-lb/weir/agent/plan"
)

// converse opens a connection for a protocol of lines.
func converse(ctx context.Context, target Target, secure bool) (*textproto.Conn, netip.Addr, error) {
	stream, err := open(ctx, target, secure)
	if err != nil {
		return nil, netip.Addr{}, err
	}
	local := stream.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	return textproto.NewConn(&brief{stream, conversationBytesMax}), local, nil
}

// refused is the outcome of a conversation that ended at a step: what the server said, or what the network did.
func refused(target Target, step string, err error) Outcome {
	var said *textproto.Error
	var malformed textproto.ProtocolError
	switch {
	case errors.As(err, &said):
		return Outcome{Reason: fmt.Sprintf("its answer to %s: %d %s", step, said.Code, firstLine(said.Msg))}
	case errors.As(err, &malformed):
		return Outcome{Reason: fmt.Sprintf("its answer to %s is not one of this protocol", step)}
	default:
		return failed(target, err)
	}
}

// ask sends a line, and reads the answer of SMTP or FTP (RFC 5321 §4.2, RFC 959 §4.2). The outcome names the first word
// of the line: what follows may be a secret.
func ask(client *textproto.Conn, target Target, code int, line string) (string, *Outcome) {
	err := client.PrintfLine("%s", line)
	var text string
	if err == nil {
		_, text, err = client.ReadResponse(code)
	}
	if err != nil {
		step, _, _ := strings.Cut(line, " ")
		return "", new(refused(target, step, err))
	}
	return text, nil
}

// probeSMTP says hello, logs in and sends a mail, as far as the monitor has the settings (RFC 5321).
func probeSMTP(ctx context.Context, target Target) Outcome {
	check := &target.Monitor.SMTP
	client, local, err := converse(ctx, target, target.Monitor.Type == plan.SMTPS)
	if err != nil {
		return failed(target, err)
	}
	defer client.Close()
	if _, _, err := client.ReadResponse(220); err != nil {
		return refused(target, "the connection", err)
	}
	offers, problem := ask(client, target, 250, "EHLO "+cmp.Or(check.Domain, literal(local)))
	if problem == nil && target.Monitor.Login.Username != "" {
		problem = loginSMTP(client, target, offers)
	}
	if problem == nil && check.Sender != "" && len(check.Recipients) > 0 {
		problem = sendMail(client, target)
	}
	if problem != nil {
		return *problem
	}
	client.PrintfLine("QUIT")
	return Outcome{Up: true}
}

// literal is an address in place of a domain (RFC 5321 §4.1.3).
func literal(address netip.Addr) string {
	if address.Is6() {
		return "[IPv6:" + address.WithZone("").String() + "]"
	}
	return "[" + address.String() + "]"
}

// loginSMTP logs in by PLAIN (RFC 4616) or LOGIN, whichever the server offers.
func loginSMTP(client *textproto.Conn, target Target, offers string) *Outcome {
	login := &target.Monitor.Login
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	offered := func(mechanism string) bool {
		return slices.ContainsFunc(strings.Split(offers, "\n"), func(line string) bool {
			words := strings.Fields(strings.ToUpper(line))
			return len(words) > 0 && words[0] == "AUTH" && slices.Contains(words, mechanism)
		})
	}
	switch {
	case offered("PLAIN"):
		_, problem := ask(client, target, 235, "AUTH PLAIN "+encode("\x00"+login.Username+"\x00"+login.Password))
		return problem
	case offered("LOGIN"):
		if _, problem := ask(client, target, 334, "AUTH LOGIN"); problem != nil {
			return problem
		}
		for _, step := range []struct {
			code int
			text string
		}{{334, login.Username}, {235, login.Password}} {
			err := client.PrintfLine("%s", encode(step.text))
			if err == nil {
				_, _, err = client.ReadResponse(step.code)
			}
			if err != nil {
				return new(refused(target, "AUTH", err))
			}
		}
		return nil
	default:
		return &Outcome{Reason: "it offers neither AUTH PLAIN nor AUTH LOGIN"}
	}
}

func sendMail(client *textproto.Conn, target Target) *Outcome {
	check := &target.Monitor.SMTP
	if _, problem := ask(client, target, 250, "MAIL FROM:<"+check.Sender+">"); problem != nil {
		return problem
	}
	for _, recipient := range check.Recipients {
		if _, problem := ask(client, target, 25, "RCPT TO:<"+recipient+">"); problem != nil {
			return problem
		}
	}
	if _, problem := ask(client, target, 354, "DATA"); problem != nil {
		return problem
	}
	mail := client.DotWriter()
	mail.Write([]byte(check.Mail))
	err := mail.Close()
	if err == nil {
		_, _, err = client.ReadResponse(250)
	}
	if err != nil {
		return new(refused(target, "the mail", err))
	}
	return nil
}

// probePOP3 reads the greeting, and logs in if the monitor has a user (RFC 1939).
func probePOP3(ctx context.Context, target Target) Outcome {
	client, _, err := converse(ctx, target, target.Monitor.Type == plan.POP3S)
	if err != nil {
		return failed(target, err)
	}
	defer client.Close()
	steps := [][2]string{{"the connection", ""}}
	if login := &target.Monitor.Login; login.Username != "" {
		steps = append(steps, [2]string{"USER", "USER " + login.Username}, [2]string{"PASS", "PASS " + login.Password})
	}
	for _, step := range steps {
		if step[1] != "" {
			if err := client.PrintfLine("%s", step[1]); err != nil {
				return failed(target, err)
			}
		}
		line, err := client.ReadLine()
		if err != nil {
			return failed(target, err)
		}
		if !strings.HasPrefix(line, "+OK") {
			return Outcome{Reason: fmt.Sprintf("its answer to %s: %s", step[0], firstLine(line))}
		}
	}
	client.PrintfLine("QUIT")
	return Outcome{Up: true}
}

// probeIMAP reads the greeting, logs in and selects a folder, as far as the monitor has the settings (RFC 3501).
func probeIMAP(ctx context.Context, target Target) Outcome {
	client, _, err := converse(ctx, target, target.Monitor.Type == plan.IMAPS)
	if err != nil {
		return failed(target, err)
	}
	defer client.Close()
	greeting, err := client.ReadLine()
	if err != nil {
		return failed(target, err)
	}
	if !strings.HasPrefix(greeting, "* OK") && !strings.HasPrefix(greeting, "* PREAUTH") {
		return Outcome{Reason: "its answer to the connection: " + firstLine(greeting)}
	}
	commands := [][2]string{{"NOOP", ""}}
	if login := &target.Monitor.Login; login.Username != "" {
		commands = [][2]string{{"LOGIN", " " + quoted(login.Username) + " " + quoted(login.Password)}}
		if folder := target.Monitor.IMAPFolder; folder != "" {
			commands = append(commands, [2]string{"SELECT", " " + quoted(folder)})
		}
	}
	for at, command := range commands {
		tag := fmt.Sprintf("w%d ", at)
		if err := client.PrintfLine("%s%s%s", tag, command[0], command[1]); err != nil {
			return failed(target, err)
		}
		for {
			line, err := client.ReadLine()
			if err != nil {
				return failed(target, err)
			}
			said, tagged := strings.CutPrefix(line, tag)
			if tagged && !strings.HasPrefix(said, "OK") {
				return Outcome{Reason: fmt.Sprintf("its answer to %s: %s", command[0], firstLine(said))}
			}
			if tagged {
				break
			}
		}
	}
	client.PrintfLine("w LOGOUT")
	return Outcome{Up: true}
}

// quoted is a string of IMAP (RFC 3501 §4.3).
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
