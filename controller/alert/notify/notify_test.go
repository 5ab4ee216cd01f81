package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-lb/weir/controller/syslog"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func sender(allowLocal bool) *Sender {
	return &Sender{Host: "weir.example", AllowLocal: allowLocal, Now: func() time.Time { return noon }}
}

func notice() *Notice {
	return &Notice{
		ID: "alert-1.1", Condition: "FIRING", Level: "ALERT_HIGH", Summary: "web is down", Reason: "pool is not up",
		Object: Object{Type: "VIRTUALSERVICE", UUID: "vs-1", Name: "web", Tenant: "admin"}, Since: noon, At: noon,
	}
}

func TestWebhookIsSigned(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "taken\n")
	}))
	defer server.Close()
	const token = "0123456789abcdef"
	result := sender(true).Post(t.Context(), Webhook{URL: server.URL + "/hook", Token: token}, "alert-1.1", notice())
	if !result.OK || result.Answer != "202 Accepted: taken " {
		t.Fatalf("got %+v", result)
	}
	var sent Notice
	if err := json.Unmarshal(body, &sent); err != nil || sent.Summary != "web is down" || sent.Object.UUID != "vs-1" {
		t.Errorf("%v: %s", err, body)
	}
	if got.Header.Get("X-Weir-Timestamp") != strconv.FormatInt(noon.Unix(), 10) ||
		got.Header.Get("X-Weir-Signature") != Signature(token, got.Header.Get("X-Weir-Timestamp"), body) ||
		got.Header.Get("X-Weir-Delivery") != "alert-1.1" || got.URL.Path != "/hook" {
		t.Errorf("got %v", got.Header)
	}
	// printf '%s' '1.x' | openssl dgst -sha256 -hmac 0123456789abcdef
	if mac := Signature(token, "1", []byte("x")); mac !=
		"v1=fd8cad50b6953efad15ba0fbbbdeaf3d76e8949cf002bfb1d3a956fc259a4c57" {
		t.Errorf("the signature of 1.x is %s", mac)
	}
}

func TestRedirectsAndOtherAnswersAreFailures(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/secret", http.StatusTemporaryRedirect)
		default:
			http.Error(w, "no", http.StatusForbidden)
		}
	}))
	defer server.Close()
	moved := sender(true).Post(t.Context(), Webhook{URL: server.URL + "/moved"}, "1", notice())
	if moved.OK || asked != 1 || !strings.Contains(moved.Answer, "redirects are not followed") {
		t.Errorf("%d requests, %+v", asked, moved)
	}
	refused := sender(true).Post(t.Context(), Webhook{URL: server.URL}, "1", notice())
	if refused.OK || !strings.Contains(refused.Answer, "403 Forbidden: no") {
		t.Errorf("got %+v", refused)
	}
}

func TestErrorsOfWebhooksDoNotTellTheirURL(t *testing.T) {
	hangsUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	defer hangsUp.Close()
	for _, at := range []string{hangsUp.URL, "http://127.0.0.1:1", "http://none.invalid",
		"http://bad host", "ftp://a"} {
		result := sender(true).Post(t.Context(), Webhook{URL: at + "/hook?token=s3cret"}, "1", notice())
		if result.OK || result.Answer == "" || strings.Contains(result.Answer, "s3cret") {
			t.Errorf("%s: %+v", at, result)
		}
	}
}

func TestReceiverThatHangsEndsWithItsDeadline(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if _, err := listener.Accept(); err == nil {
			cancel() // as the deadline of the try does
		}
	}()
	if result := sender(true).Post(ctx, Webhook{URL: "http://" + listener.Addr().String()}, "1", notice()); result.OK {
		t.Errorf("got %+v", result)
	}
}

// smtpd is a mail server that knows as much as is needed, and returns what it was told.
func smtpd(t *testing.T, offers ...string) (port int, told <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	said := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var all strings.Builder
		defer func() { said <- all.String() }()
		fmt.Fprint(conn, "220 mail\r\n")
		lines, inData := bufio.NewScanner(conn), false
		for lines.Scan() {
			line := lines.Text()
			all.WriteString(line + "\n")
			switch {
			case inData:
				if line == "." {
					inData = false
					fmt.Fprint(conn, "250 queued\r\n")
				}
			case strings.HasPrefix(line, "EHLO"):
				fmt.Fprint(conn, "250-mail\r\n")
				for _, offer := range offers {
					fmt.Fprintf(conn, "250-%s\r\n", offer)
				}
				fmt.Fprint(conn, "250 ok\r\n")
			case line == "DATA":
				inData = true
				fmt.Fprint(conn, "354 go on\r\n")
			case line == "QUIT":
				fmt.Fprint(conn, "221 bye\r\n")
				return
			default:
				fmt.Fprint(conn, "250 ok\r\n")
			}
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port, said
}

func TestMailHasTheNoticeAndNoLinesOfStrangers(t *testing.T) {
	port, told := smtpd(t)
	by := MailServer{Host: "127.0.0.1", Port: port, From: mail.Address{Name: "Weir", Address: "weir@example.com"},
		Plain: true}
	evil := notice()
	evil.Summary, evil.Object.Name = "wéb\r\nBcc: evil@example.com", "web\r\n.\r\nMAIL FROM:<evil@example.com>"
	result := sender(true).Mail(t.Context(), by, "Jo <jo@example.com>, ops@example.com", "cc@example.com", evil)
	if !result.OK {
		t.Fatalf("got %+v", result)
	}
	text := <-told
	head, body, _ := strings.Cut(text[strings.Index(text, "DATA"):], "\n\n")
	for _, want := range []string{"From: \"Weir\" <weir@example.com>", "To: \"Jo\" <jo@example.com>, <ops@example.com>",
		"Cc: <cc@example.com>", "Subject: =?utf-8?q?[HIGH]_FIRING:_w=C3=A9b__Bcc:_evil@example.com?="} {
		if !strings.Contains(head, want) {
			t.Errorf("%q is missing in\n%s", want, head)
		}
	}
	if strings.Contains(head, "\nBcc:") || strings.Count(text, "MAIL FROM") != 2 ||
		!strings.Contains(text, "RCPT TO:<cc@example.com>") {
		t.Errorf("got\n%s", text)
	}
	if !strings.Contains(body, "pool is not up") || strings.Contains(body, "\n.\nMAIL") {
		t.Errorf("body:\n%s", body)
	}
}

func TestMailIsNotSentInPlainTextUnlessThatIsWanted(t *testing.T) {
	port, _ := smtpd(t)
	by := MailServer{Host: "127.0.0.1", Port: port, From: mail.Address{Address: "weir@example.com"}}
	result := sender(true).Mail(t.Context(), by, "a@example.com", "", notice())
	if result.OK || !strings.Contains(result.Answer, "does not offer STARTTLS") {
		t.Errorf("got %+v", result)
	}
	port, told := smtpd(t, "STARTTLS")
	by.Port = port
	if result := sender(true).Mail(t.Context(), by, "a@example.com", "", notice()); result.OK {
		t.Errorf("the server speaks no TLS, and got it: %+v", result)
	}
	if text := <-told; !strings.Contains(text, "STARTTLS") || strings.Contains(text, "MAIL FROM") {
		t.Errorf("got %q", text)
	}
}

func TestSyslogByTCPCountsOctetsAndByUDPIsCut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := make(chan string, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			all, _ := io.ReadAll(conn)
			taken <- string(all)
		}
	}()
	to := SyslogServer{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, Format: "SYSLOG_RFC5424",
		Hostname: "ctl 1"}
	evil := notice()
	evil.Summary = "web\n<13>1 forged"
	if result := sender(true).Syslog(t.Context(), to, evil); !result.OK {
		t.Fatalf("got %+v", result)
	}
	count, record, _ := strings.Cut(<-taken, " ")
	if count != strconv.Itoa(len(record)) ||
		!strings.HasPrefix(record, "<130>1 2026-11-26T12:00:00.000000Z ctl_1 weir ") ||
		!strings.HasSuffix(record, " ALERT - [HIGH] FIRING: web <13>1 forged (pool is not up)") {
		t.Errorf("%s: %q", count, record)
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	to.UDP, to.Port, to.Format = true, packets.LocalAddr().(*net.UDPAddr).Port, "SYSLOG_JSON"
	evil.Reason = strings.Repeat("x", 5000)
	if result := sender(true).Syslog(t.Context(), to, evil); !result.OK {
		t.Errorf("got %+v", result)
	}
	packet := make([]byte, 4096)
	size, _, err := packets.ReadFrom(packet)
	_, body, _ := strings.Cut(string(packet[:size]), " - {")
	if err != nil || size > syslog.DatagramMost || !json.Valid([]byte("{"+body)) {
		t.Errorf("%v: %q", err, packet[:size])
	}
}

func TestSeverityFollowsLevelAndCondition(t *testing.T) {
	for _, c := range []struct {
		level, condition, format, begin string
	}{
		{"ALERT_HIGH", "FIRING", "SYSLOG_LEGACY", "<130>Nov 26 12:00:00 weir.example weir["},
		{"ALERT_MEDIUM", "FIRING", "SYSLOG_RFC5424", "<132>1 "}, {"ALERT_LOW", "FIRING", "SYSLOG_JSON", "<133>1 "},
		{"ALERT_HIGH", "RESOLVED", "SYSLOG_RFC5425_ENHANCED", "<134>1 "},
	} {
		n := notice()
		n.Level, n.Condition = c.level, c.condition
		record, err := sender(true).record(SyslogServer{Format: c.format}, n)
		if err != nil || !strings.HasPrefix(string(record), c.begin) {
			t.Errorf("%v: %s, %v", c, record, err)
		}
	}
}

func TestDatagramWithLongTextsIsStillJSON(t *testing.T) {
	s := sender(true)
	long := &Notice{ID: "a.1", Condition: "FIRING", Level: "ALERT_HIGH", Summary: strings.Repeat("é", 3000),
		Reason: strings.Repeat(`"\x00<`, 3000), Object: Object{Name: strings.Repeat("x", 3000)}}
	for _, format := range []string{"SYSLOG_JSON", "SYSLOG_RFC5424", "SYSLOG_LEGACY"} {
		message, err := s.datagram(SyslogServer{UDP: true, Format: format}, long)
		if err != nil || len(message) > syslog.DatagramMost || !utf8.Valid(message) {
			t.Errorf("%s: %d bytes, %v", format, len(message), err)
		}
		if _, body, found := strings.Cut(string(message), "{"); format == "SYSLOG_JSON" {
			var read Notice
			if err := json.Unmarshal([]byte("{"+body), &read); err != nil || !found || read.ID != "a.1" ||
				!strings.HasSuffix(read.Reason, "…") {
				t.Errorf("%v: %s", err, body)
			}
		}
	}
	short := &Notice{ID: "a.1", Summary: "is down"}
	whole, _ := s.record(SyslogServer{Format: "SYSLOG_JSON"}, short)
	if message, err := s.datagram(SyslogServer{Format: "SYSLOG_JSON"}, short); err != nil ||
		len(message) != len(whole) {
		t.Errorf("what is short is not cut: %s, %v", message, err)
	}
}
