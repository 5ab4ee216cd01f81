package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	logscollector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/hostile"
)

// receivers take the records that a controller sends, each in a form of its own.
type receivers struct {
	file string // for weir controller --outward

	mu   sync.Mutex
	came map[string][]string // messages, by form
	port map[string]int      // of what no file names
}

func (r *receivers) take(form, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.came[form] = append(r.came[form], message)
}

func (r *receivers) have(form string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.came[form]
}

func (r *receivers) flags() []string { return []string{"--outward", r.file, "--allow-local-receivers"} }

// receivers listen in each form, before there is a controller.
func (s *stage) receivers() *receivers {
	s.Helper()
	r := &receivers{file: filepath.Join(s.dir, "outward.toml"), came: map[string][]string{}, port: map[string]int{}}
	lines := s.listen(func(from *bufio.Reader) error {
		line, err := from.ReadString('\n')
		if err == nil {
			r.take("lines", line[:len(line)-1])
		}
		return err
	})
	frames := s.listen(func(from *bufio.Reader) error { return r.takeFrame("frames", from) })
	profile := s.listen(func(from *bufio.Reader) error { return r.takeFrame("profile", from) })
	r.port["profile"] = profile.(*net.TCPAddr).Port
	datagrams, err := net.ListenPacket("udp", "127.0.0.1:0")
	s.must(err)
	s.Cleanup(func() { _ = datagrams.Close() })
	go func() {
		for message := make([]byte, 1<<16); ; {
			length, _, err := datagrams.ReadFrom(message)
			if err != nil {
				return
			}
			r.take("datagrams", string(message[:length]))
		}
	}()
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		r.takeLogs(s.T, request.Body)
	}))
	s.Cleanup(collector.Close)
	text := ""
	for name, url := range map[string]string{"lines": "json+tcp://" + lines.String(),
		"frames": "syslog+tcp://" + frames.String(), "datagrams": "syslog+udp://" + datagrams.LocalAddr().String(),
		"collector": "otlp+" + collector.URL} {
		text += fmt.Sprintf("[[stream]]\nname = %q\nurl = %q\nrows = [\"requests\", \"connections\"]\n", name, url)
	}
	s.must(os.WriteFile(r.file, []byte(text), 0o600))
	return r
}

// listen reads from each connection until it ends.
func (s *stage) listen(read func(*bufio.Reader) error) net.Addr {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	s.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				from := bufio.NewReader(connection)
				for err == nil {
					err = read(from)
				}
				if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
					s.Error(err)
				}
			}()
		}
	}()
	return listener.Addr()
}

// takeFrame reads a message with its length before it (RFC 6587 §3.4.1).
func (r *receivers) takeFrame(form string, from *bufio.Reader) error {
	head, err := from.ReadString(' ')
	if err != nil {
		return err
	}
	length, err := strconv.Atoi(head[:len(head)-1])
	if err != nil {
		return fmt.Errorf("%s: what should be a length is %q", form, head)
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(from, message); err != nil {
		return err
	}
	r.take(form, string(message))
	return nil
}

// takeLogs makes of each log of OpenTelemetry what the other forms have.
func (r *receivers) takeLogs(t *testing.T, from io.Reader) {
	content, err := io.ReadAll(from)
	var logs logscollector.ExportLogsServiceRequest
	if err := errors.Join(err, proto.Unmarshal(content, &logs)); err != nil {
		t.Error(err)
	}
	for _, resource := range logs.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				fields := map[string]string{"body": record.GetBody().GetStringValue()}
				for _, attribute := range record.GetAttributes() {
					fields[attribute.GetKey()] = attribute.GetValue().GetStringValue()
				}
				text, _ := json.Marshal(fields) // of strings, which have a JSON
				r.take("logs", string(text))
			}
		}
	}
}

// streamTo has the analytics profile send its records to the receiver that no file names, and waits for the first.
func (r *receivers) streamTo(s *stage) {
	s.Helper()
	s.change("analyticsprofile", "System-Analytics-Profile", func(profile client.Object) {
		profile["client_log_streaming_config"] = client.Object{"external_server": "127.0.0.1",
			"external_server_port": r.port["profile"], "protocol": "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TCP",
			"log_types_to_send": "LOGS_ALL", "max_logs_per_second": 0}
	})
	s.eventually("the profile's receiver gets records", func() error {
		s.curl(plainURL("/"))
		if len(r.have("profile")) == 0 {
			return errors.New("none has come")
		}
		return nil
	})
}

// syslogHead is what stands before the JSON of a message (RFC 5424 §6).
var syslogHead = regexp.MustCompile(`^<[0-9]{1,3}>1 [!-~]+ [!-~]+ weir [!-~]+ [!-~]+ - \x{feff}`)

// check compares what has come with all records: one message each, with the same values. What no file names does not
// get the first of them.
func (r *receivers) check(s *stage, all, ofStrangers []client.Object) {
	s.Helper()
	known := map[string]client.Object{}
	for _, record := range all {
		known[fmt.Sprint(record["request_id"])] = record
	}
	for form, wanted := range map[string][]client.Object{"lines": all, "frames": all, "datagrams": all, "logs": all,
		"profile": ofStrangers} {
		least := len(wanted)
		if form == "datagrams" { // which can be lost
			least /= 2
		}
		s.eventually("all records are sent as "+form, func() error {
			if came := len(r.have(form)); came < least {
				return fmt.Errorf("%d of %d", came, len(wanted))
			}
			return nil
		})
		came := map[string]int{}
		for _, message := range r.have(form) {
			came[checkMessage(s, form, message, known)]++
		}
		for _, record := range wanted {
			if id := fmt.Sprint(record["request_id"]); came[id] != 1 && (form != "datagrams" || came[id] > 1) {
				s.Errorf("%s: the record %s came %d times", form, id, came[id])
			}
		}
	}
}

// checkMessage returns the id of the record.
func checkMessage(s *stage, form, message string, known map[string]client.Object) string {
	s.Helper()
	body := message
	if form == "frames" || form == "datagrams" || form == "profile" {
		head := syslogHead.FindString(message)
		if head == "" {
			s.Errorf("%s: %q has no head of syslog", form, message)
		}
		body = message[len(head):]
	}
	var fields client.Object
	decoder := json.NewDecoder(bytes.NewReader([]byte(body)))
	if err := decoder.Decode(&fields); err != nil || decoder.More() {
		s.Errorf("%s: %v: %q", form, err, message)
		return ""
	}
	if form != "logs" { // protobuf has lengths, and texts stand in it as they are
		s.printable(form, body)
	}
	id := fmt.Sprint(fields["request_id"])
	record, has := known[id]
	if !has {
		s.Errorf("%s: there is no record %s", form, id)
		return id
	}
	for field := range hostile.RecordedMost {
		got, _ := fields[field].(string)
		want, _ := record[field].(string)
		begin, isCut := strings.CutSuffix(got, "…")
		if got != want && !(form == "datagrams" && isCut && strings.HasPrefix(want, begin)) {
			s.Errorf("%s: %s of %s is %q, want %q", form, field, id, got, want)
		}
	}
	return id
}
