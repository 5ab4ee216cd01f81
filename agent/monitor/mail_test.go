package monitor

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/agent/plan"
)

type cases = map[string]struct{ script, reason string }

func TestSMTPMonitorGoesAsFarAsItIsTold(t *testing.T) {
	scripted(t, plan.Monitor{Type: plan.SMTP, SMTP: plan.SMTPCheck{Domain: "weir.test"}}, cases{
		"hello is enough": {"> 220 hi\n< EHLO weir.test\n> 250-mail.test\n> 250 HELP\n< QUIT", ""},
		"a long greeting": {"> 220-hi\n> 220-there\n> 220 go\n< EHLO weir.test\n> 250 mail.test", ""},
		"it is busy":      {"> 421 too many connections", "its answer to the connection: 421 too many connections"},
		"it says no":      {"> 220 hi\n< EHLO weir.test\n> 550 go away", "its answer to EHLO: 550 go away"},
		"another protocol": {"> +OK POP3 ready",
			"its answer to the connection is not one of this protocol"},
		"it closes":          {"> 220 hi\n< EHLO weir.test", closed},
		"it cuts a line":     {"= 220 h", closed},
		"it is silent":       {"silence", late},
		"no end of hellos":   {"> 220 hi\n< EHLO weir.test\n... 250-more", tooLong},
		"a line without end": {"= 220 " + strings.Repeat("x", conversationBytesMax), tooLong},
	})
	scripted(t, plan.Monitor{Type: plan.SMTP, SMTP: plan.SMTPCheck{
		Domain: "weir.test", Sender: "me@weir.test", Recipients: []string{"a@b.test", "c@d.test"},
		Mail: "Subject: hi\n\n.\nbye",
	}}, cases{
		"a whole mail": {`
			> 220 hi
			< EHLO weir.test
			> 250 mail.test
			< MAIL FROM:<me@weir.test>
			> 250 ok
			< RCPT TO:<a@b.test>
			> 250 ok
			< RCPT TO:<c@d.test>
			> 251 I pass it on
			< DATA
			> 354 go on
			< Subject: hi
			<
			< ..
			< bye
			< .
			> 250 queued`, ""},
		"a recipient that it does not know": {"> 220 hi\n< EHLO weir.test\n> 250 mail.test\n< MAIL FROM:<me@weir.test>\n" +
			"> 250 ok\n< RCPT TO:<a@b.test>\n> 550 who?", "its answer to RCPT: 550 who?"},
		"a mail that it does not want": {"> 220 hi\n< EHLO weir.test\n> 250 mail.test\n< MAIL FROM:<me@weir.test>\n" +
			"> 250 ok\n< RCPT TO:<a@b.test>\n> 250 ok\n< RCPT TO:<c@d.test>\n> 250 ok\n< DATA\n> 354 go on\n" +
			"< Subject: hi\n<\n< ..\n< bye\n< .\n> 552 too much", "its answer to the mail: 552 too much"},
	})
	scripted(t, plan.Monitor{Type: plan.SMTP, SMTP: plan.SMTPCheck{Domain: "weir.test"},
		Login: plan.Login{Username: "me", Password: "secret"}}, cases{
		"it logs in": {"> 220 hi\n< EHLO weir.test\n> 250-mail.test\n> 250 AUTH LOGIN PLAIN\n" +
			"< AUTH PLAIN AG1lAHNlY3JldA==\n> 235 ok", ""},
		"it logs in the other way": {"> 220 hi\n< EHLO weir.test\n> 250-mail.test\n> 250 auth login\n" +
			"< AUTH LOGIN\n> 334 VXNlcm5hbWU6\n< bWU=\n> 334 UGFzc3dvcmQ6\n< c2VjcmV0\n> 235 ok", ""},
		"the password is wrong": {"> 220 hi\n< EHLO weir.test\n> 250-mail.test\n> 250 AUTH PLAIN\n" +
			"< AUTH PLAIN AG1lAHNlY3JldA==\n> 535 wrong", "its answer to AUTH: 535 wrong"},
		"it offers nothing": {"> 220 hi\n< EHLO weir.test\n> 250 mail.test",
			"it offers neither AUTH PLAIN nor AUTH LOGIN"},
	})
	scripted(t, plan.Monitor{Type: plan.SMTPS, SMTP: plan.SMTPCheck{Domain: "weir.test"}}, cases{
		"over TLS":    {"tls\n> 220 hi\n< EHLO weir.test\n> 250 mail.test", ""},
		"without TLS": {"> 220 hi", "its answer is not TLS"},
	})
}

func TestPOP3MonitorLogsIn(t *testing.T) {
	scripted(t, plan.Monitor{Type: plan.POP3}, cases{
		"a greeting is enough":   {"> +OK ready\n< QUIT", ""},
		"it is busy":             {"> -ERR busy", "its answer to the connection: -ERR busy"},
		"another protocol":       {"> 220 mail.test", "its answer to the connection: 220 mail.test"},
		"it closes":              {"", closed},
		"it is silent":           {"silence", late},
		"a greeting without end": {"= +OK " + strings.Repeat("x", conversationBytesMax), tooLong},
	})
	login := plan.Login{Username: "me", Password: "secret"}
	scripted(t, plan.Monitor{Type: plan.POP3, Login: login}, cases{
		"it logs in": {"> +OK ready\n< USER me\n> +OK\n< PASS secret\n> +OK 3 messages", ""},
		"the password is wrong": {"> +OK ready\n< USER me\n> +OK\n< PASS secret\n> -ERR no",
			"its answer to PASS: -ERR no"},
	})
	scripted(t, plan.Monitor{Type: plan.POP3S, Login: login}, cases{
		"over TLS": {"tls\n> +OK ready\n< USER me\n> +OK\n< PASS secret\n> +OK 3 messages", ""},
	})
}

func TestIMAPMonitorLogsInAndSelectsAFolder(t *testing.T) {
	scripted(t, plan.Monitor{Type: plan.IMAP}, cases{
		"it does nothing":  {"> * OK ready\n< w0 NOOP\n> w0 OK done\n< w LOGOUT", ""},
		"it is going down": {"> * BYE soon", "its answer to the connection: * BYE soon"},
		"it closes":        {"> * OK ready", closed},
		"it is silent":     {"> * OK ready\nsilence", late},
		"no end of news":   {"> * OK ready\n< w0 NOOP\n... * 1 EXISTS", tooLong},
	})
	login := plan.Login{Username: "me", Password: `a "b\c`}
	scripted(t, plan.Monitor{Type: plan.IMAP, Login: login, IMAPFolder: "INBOX"}, cases{
		"it selects a folder": {"> * PREAUTH ready\n< w0 LOGIN \"me\" \"a \\\"b\\\\c\"\n> w0 OK\n< w1 SELECT \"INBOX\"\n" +
			"> * 3 EXISTS\n> w1 OK [READ-WRITE] done", ""},
		"the password is wrong": {"> * OK ready\n< w0 LOGIN \"me\" \"a \\\"b\\\\c\"\n> w0 NO [AUTHENTICATIONFAILED] no",
			"its answer to LOGIN: NO [AUTHENTICATIONFAILED] no"},
		"there is no such folder": {"> * OK ready\n< w0 LOGIN \"me\" \"a \\\"b\\\\c\"\n> w0 OK\n< w1 SELECT \"INBOX\"\n> w1 NO what?",
			"its answer to SELECT: NO what?"},
	})
	scripted(t, plan.Monitor{Type: plan.IMAPS}, cases{
		"over TLS": {"tls\n> * OK ready\n< w0 NOOP\n> w0 OK done", ""},
	})
}
