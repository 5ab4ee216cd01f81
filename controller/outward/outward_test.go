package outward

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	logscollector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/controller/syslog"
	"github.com/weir-lb/weir/logs/wire"
)

const hostile = "\x00\n<13>1 - - - - - - \x1b[2Jforged \u202e \xff\xfe\"}"

func event(n int) wire.Row {
	return wire.Row{Time: time.Date(2026, 11, 20, 12, 0, n, 1000, time.UTC), Type: "events", Scope: "admin",
		Fields: []wire.Field{{Name: "event_id", Value: "VS_DOWN"}, {Name: "obj_name", Value: "web" + strconv.Itoa(n)},
			{Name: "event_description", Value: "is down" + hostile}}}
}

// told notes events.
type told struct {
	mu   sync.Mutex
	text string
}

func (t *told) tell(target, id, message string) {
	if !strings.Contains(message, target) {
		message = "of another than " + target + ": " + message
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += id + " " + message + "\n"
}

// begin runs streams of one target until the test ends, or stop is called.
func begin(t *testing.T, text string, dialer *net.Dialer) (streams *Streams, events *told, stop func()) {
	t.Helper()
	config, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	events = &told{}
	streams = New(config.Streams, Outside{Dialer: dialer, Host: "ctl one", Log: slog.New(slog.DiscardHandler)})
	streams.Tell(events.tell)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { streams.Run(ctx); close(ended) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return streams, events, stop
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// frame reads a message with its length before it.
func frame(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	length, err := from.ReadString(' ')
	if err != nil {
		t.Fatal(err)
	}
	count, err := strconv.Atoi(strings.TrimSpace(length))
	if err != nil {
		t.Fatalf("%q is no length", length)
	}
	text := make([]byte, count)
	if _, err := io.ReadFull(from, text); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantSyslog wants the message of an event, and returns its fields.
func wantSyslog(t *testing.T, text string) map[string]string {
	t.Helper()
	head, body, _ := strings.Cut(text, "\xef\xbb\xbf")
	if !strings.HasPrefix(head, "<131>1 2026-11-20T12:00:0") || !strings.HasSuffix(head, "Z ctl_one weir - events - ") {
		t.Errorf("the head is %q", head)
	}
	if strings.ContainsAny(text, "\x00\n\x1b\xff") {
		t.Errorf("control characters got through: %q", text)
	}
	var fields map[string]string
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatalf("%v: %q", err, body)
	}
	return fields
}

func TestSyslogOverTCPHasALengthBeforeEachMessage(t *testing.T) {
	listener := listen(t)
	streams, _, _ := begin(t, `stream = [{name = "a", url = "syslog+tcp://`+listener.Addr().String()+
		`"}]`, &net.Dialer{})
	for n := range 3 {
		streams.Add(event(n))
		unwanted := event(n)
		unwanted.Type = "requests"
		streams.Add(unwanted)
	}
	connection, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(connection)
	for n := range 3 {
		fields := wantSyslog(t, frame(t, from))
		if fields["obj_name"] != "web"+strconv.Itoa(n) || fields["scope"] != "admin" ||
			!strings.HasPrefix(fields["event_description"], "is down\x00\n<13>1") {
			t.Errorf("message %d: %q", n, fields)
		}
	}
}

func TestNothingIsLostWhenTheReceiverComesBack(t *testing.T) {
	listener := listen(t)
	streams, _, _ := begin(t, `stream = [{name = "a", url = "json+tcp://`+listener.Addr().String()+`"}]`, &net.Dialer{})
	next := 0
	for range 3 {
		streams.Add(event(next))
		connection, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(connection).ReadString('\n')
		if err != nil || !strings.Contains(line, `"web`+strconv.Itoa(next)+`"`) {
			t.Fatalf("row %d: %q, %v", next, line, err)
		}
		next++
		if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(connection); err != nil { // until the sender has noticed
			t.Fatal(err)
		}
	}
}

func TestDatagramsOfSyslogAreShortAndStillJSON(t *testing.T) {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	streams, _, _ := begin(t, `stream = [{name = "a", url = "syslog+udp://`+socket.LocalAddr().String()+`"}]`,
		&net.Dialer{})
	long := event(1)
	for n := range 20 {
		long.Fields = append(long.Fields, wire.Field{Name: "f" + strconv.Itoa(n), Value: strings.Repeat("ä", 5000)})
	}
	streams.Add(long)
	buffer := make([]byte, 70_000)
	size, _, err := socket.ReadFrom(buffer)
	if err != nil || size > syslog.DatagramMost {
		t.Fatalf("%d bytes, %v", size, err)
	}
	fields := wantSyslog(t, string(buffer[:size]))
	if fields["obj_name"] != "web1" || !strings.HasSuffix(fields["f19"], "ä…") {
		t.Errorf("got %q", fields)
	}
}

func TestCollectorOfOpenTelemetryGetsLogs(t *testing.T) {
	got := make(chan *logscollector.ExportLogsServiceRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := &logscollector.ExportLogsServiceRequest{}
		if err := proto.Unmarshal(body, request); err != nil || r.URL.Path != "/v1/logs" ||
			r.Header.Get("X-Scope") != "weir" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
		select {
		case got <- request:
		default:
		}
		answer, _ := proto.Marshal(&logscollector.ExportLogsServiceResponse{
			PartialSuccess: &logscollector.ExportLogsPartialSuccess{RejectedLogRecords: 1}})
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	streams, _, stop := begin(t, `[[stream]]
name = "a"
url = "otlp+`+server.URL+`"
headers = { X-Scope = "weir" }
allow_plain_secrets = true`, &net.Dialer{})
	streams.Add(event(1))
	record := (<-got).GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords()[0]
	if record.GetSeverityText() != "ERROR" || record.GetEventName() != "weir.events" ||
		!strings.HasPrefix(record.GetBody().GetStringValue(), "web1: is down") || len(record.GetAttributes()) != 4 {
		t.Errorf("got %v", record)
	}
	stop()
	if count := streams.Counts()[0]; count.Sent != 0 || count.Dropped != 1 {
		t.Errorf("the collector rejected it: %+v", count)
	}
}

func TestWhatFindsNoRoomIsDroppedAndCountedAndNobodyWaits(t *testing.T) {
	config, err := parse(`stream = [{name = "a", url = "json+tcp://192.0.2.1:1"}]`)
	if err != nil {
		t.Fatal(err)
	}
	events := &told{}
	streams := New(config.Streams, Outside{Log: slog.New(slog.DiscardHandler)})
	streams.Tell(events.tell)
	for range waitingRowsMax + 7 {
		streams.Add(event(1))
	}
	if count := streams.Counts()[0]; count.Dropped != 7 || count.Waiting != waitingRowsMax {
		t.Errorf("got %+v", count)
	}
	large := New(config.Streams, Outside{Log: slog.New(slog.DiscardHandler)})
	heavy := event(1)
	heavy.Fields = append(heavy.Fields, wire.Field{Name: "path", Value: strings.Repeat("x", 60_000)})
	for range 1000 {
		large.Add(heavy)
	}
	if count := large.Counts()[0]; count.Waiting*60_000 > waitingBytesMax || count.Dropped+
		uint64(count.Waiting) != 1000 {
		t.Errorf("got %+v", count)
	}
	streams.all[0].sayDropped(time.Now(), tellEvery)
	streams.all[0].sayDropped(time.Now(), tellEvery)
	if events.text != "STREAM_DROPPED 7 rows were not sent to a: it was away or too slow\n" {
		t.Errorf("operators heard %q", events.text)
	}
}

func TestDialerDecidesWhereConnectionsMayGo(t *testing.T) {
	forbidden := errors.New("that is this machine")
	asked := make(chan string, 16)
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		select {
		case asked <- address:
		default:
		}
		return forbidden
	}}
	listener := listen(t)
	for _, url := range []string{"syslog+tcp://localhost:", "json+tls://127.0.0.1:", "otlp+http://127.0.0.1:",
		"syslog+udp://127.0.0.1:"} {
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		config, err := parse(`stream = [{name = "a", url = "` + url + port + `"}]`)
		if err != nil {
			t.Fatal(err)
		}
		to, err := config.Streams[0].open(t.Context(), dialer, "host")
		if err == nil {
			_, err = to.send(t.Context(), []wire.Row{event(1)})
		}
		if !errors.Is(err, forbidden) {
			t.Errorf("%s: %v", url, err)
		}
		if address := <-asked; !strings.HasSuffix(address, ":"+port) {
			t.Errorf("%s: the dialer was asked about %s", url, address)
		}
	}
}

func TestFileThatMakesNoSenseIsRefusedWithTheField(t *testing.T) {
	for text, want := range map[string]string{
		`[remote_write]
url = "ftp://a"`: "remote_write: url: the scheme is",
		`[remote_write]
url = "https://a"
version = "3"`: "remote_write: version",
		`[remote_write]
url = "http://user:secret@a"`: "remote_write: headers, bearer_token_file: everybody on the way",
		`[remote_write]
url = "https://a"
headers = { Content-Type = "text/plain" }`: "Content-Type is set by the protocol",
		`stream = [{name = "a", url = "syslog+tcp://a"}]`:                          "stream 1: url: give a port",
		`stream = [{name = "a", url = "json+tcp://a:1/path"}]`:                     "give only a host and a port",
		`stream = [{name = "a", url = "json+tcp://a:1", ca_file = "x"}]`:           "the URL has no TLS",
		`stream = [{name = "a", url = "json+tls://a:1", cert_file = "x"}]`:         "give both or none",
		`stream = [{name = "A b", url = "json+tls://a:1"}]`:                        "stream 1: name",
		`stream = [{name = "a", url = "json+tls://a:1", rows = ["all"]}]`:          "rows: \"all\" is none of",
		`stream = [{name = "a", url = "json+tls://a:1", bearer_token_file = "x"}]`: "only HTTP has them",
		`streams = []`: "streams: is unknown",
		`stream = [{name = "a", url = "json+tls://a:1"}, {name = "a", url = "json+tls://a:1"}]`: "is taken",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), ":secret@") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestValuesEndBetweenCharacters(t *testing.T) {
	for most := 3; most < 12; most++ {
		if short := cut("ääääää", most); len(short) > most || strings.ContainsRune(short, '\ufffd') {
			t.Errorf("%d: %q", most, short)
		}
	}
}
