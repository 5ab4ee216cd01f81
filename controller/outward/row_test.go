package outward

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/syslog"
	"github.com/weir-lb/weir/logs/query"
	logtext "github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

// rowsOfRecords are the rows that controller/intake makes of records, as its tests hold them.
func rowsOfRecords(t *testing.T) (rows []wire.Row) {
	t.Helper()
	text, err := os.ReadFile("../intake/testdata/rows.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		name, value, isField := strings.Cut(strings.TrimSpace(line), " = ")
		if !isField {
			kind, _, _ := strings.Cut(line, " of ")
			rows = append(rows, wire.Row{Time: time.Unix(0, 0), Type: kind, Scope: "tenant-1"})
			continue
		}
		if value, err = strconv.Unquote(value); err != nil {
			t.Fatal(err)
		}
		last := &rows[len(rows)-1]
		last.Fields = append(last.Fields, wire.Field{Name: name, Value: value})
	}
	return rows
}

func TestRowOfARequestHasTheSeverityAndWordsOfItsRecord(t *testing.T) {
	row := rowsOfRecords(t)[0]
	if row.Type != "requests" || severity(row) != severityError {
		t.Errorf("%s with status %s has severity %d", row.Type, field(row, "response_code"), severity(row))
	}
	if got := said(row); got != "POST /a\x1b[31m\u202e\x00\U0010feff 502" {
		t.Errorf("it is said as %q", got)
	}
	for i := range row.Fields {
		if row.Fields[i].Name == "response_code" {
			row.Fields[i].Value = "404"
		}
	}
	if severity(row) != severityNotice {
		t.Errorf("with status 404 it has severity %d", severity(row))
	}
}

func TestReceiverThatHangsHoldsTheEndUpForTwoSecondsAtMost(t *testing.T) {
	hangs, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(hangs)
		<-release
	}))
	defer server.Close()
	defer close(release)
	streams, _, stop := begin(t, `stream = [{name = "a", url = "otlp+`+server.URL+`"}]`, &net.Dialer{})
	streams.Add(event(1))
	<-hangs
	began := time.Now()
	stop()
	if took := time.Since(began); took > closePatience+3*time.Second {
		t.Errorf("the end took %v", took)
	}
}

func TestConnectionThatTakesNothingHoldsTheEndUpForAShortTime(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	to := newLasting(near, func(row wire.Row) []byte { return object(row, wire.MaxValueBytes) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if _, err := to.send(ctx, []wire.Row{event(1)}); err == nil || time.Since(began) > writeTimeout/2 {
		t.Errorf("it took %v: %v", time.Since(began), err)
	}
}

func TestStreamsLoseNoByteAndNoLineBegins(t *testing.T) {
	const raw = "\xff\u0085\u2028\u009b31m\u202e\x00é"
	text := string(quoted(raw))
	if want := `"` + "\U0010feff" + `\u0085\u2028\u009b31m\u202e\u0000é"`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	var back string
	if err := json.Unmarshal([]byte(text), &back); err != nil || logtext.Decode(back) != raw {
		t.Errorf("it comes back as %q, %v", back, err)
	}
}

func TestRecordOfBytesThatAreNoTextFitsIntoADatagram(t *testing.T) {
	row := wire.Row{Time: time.Unix(0, 0), Type: query.Requests}
	for name, kind := range query.Types[query.Requests] {
		if kind == query.Text && len(row.Fields) < 12 { // as many as strangers write, and more
			row.Fields = append(row.Fields, wire.Field{Name: name, Value: strings.Repeat("\xff", 256)})
		}
	}
	const id = "se-d822c7a5-5156-4267-adf3-e17cc952b5ba-0-hojt9x37ts.74"
	row.Fields = append(row.Fields, wire.Field{Name: "request_id", Value: id})
	if text := message(row, "host", syslog.DatagramMost); !strings.Contains(string(text), id) {
		t.Errorf("it does not fit, or has no id: %s", text)
	}
	form := Form{Syslog: &SyslogForm{}}
	if text := form.encode(row, syslog.DatagramMost); !strings.Contains(string(text), id) {
		t.Errorf("it does not fit, or has no id in another form: %s", text)
	}
}
