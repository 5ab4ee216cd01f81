package e2e

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/weir-lb/weir/client"
	logtext "github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/tests/accept"
	"github.com/weir-lb/weir/tests/hostile"
)

// mirror is a server that answers with the user agent as the type of its content.
func mirror(t *testing.T) string {
	t.Helper()
	return accept.Each(t, func(connection *net.TCPConn) {
		agent := ""
		lines := bufio.NewReader(connection)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), ": ")
			if strings.EqualFold(name, "user-agent") {
				agent = value
			}
			if line == "\r\n" {
				break
			}
		}
		_, _ = fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nX-Mirror: %s\r\nContent-Length: 0\r\n"+
			"Connection: close\r\n\r\n", agent, agent)
	}).String()
}

// strangers send all hostile texts over both protocols, and one call of gRPC each.
func (s *stage) strangers() (sent []hostile.Request) {
	s.Helper()
	for _, text := range hostile.Texts {
		for _, request := range []hostile.Request{{Text: text}, {Text: text, HTTP2: true},
			{Text: text, HTTP2: true, Call: true}} {
			if err := request.Send(tlsAddress); err != nil {
				s.Errorf("%s: %v", text.Name, err)
			}
			sent = append(sent, request)
		}
	}
	return sent
}

// sendRefused sends what no protocol admits: names of servers that are none, and values with control characters.
func (s *stage) sendRefused() {
	s.Helper()
	for _, text := range hostile.Texts {
		if connection, err := hostile.Connect(tlsAddress, text.Bytes); err == nil {
			_ = hostile.SendLines(connection, http.MethodGet, "/refused", [][2]string{{"Host", "refused"}})
			connection.Close()
		}
		if text.IsValue() {
			continue
		}
		for _, protocol := range []string{"http/1.1", "h2"} {
			connection, err := hostile.Connect(tlsAddress, "refused", protocol)
			s.must(err)
			fields := [][2]string{{"host", "refused"}, {"user-agent", text.Bytes}, {"x-refused", text.Bytes}}
			if protocol == "h2" {
				err = hostile.SendOnStream(connection, http.MethodGet, "/refused", fields)
			} else {
				err = hostile.SendLines(connection, http.MethodGet, "/refused", fields)
			}
			if err != nil && !errors.Is(err, hostile.ErrReset) && !errors.Is(err, io.EOF) {
				s.Errorf("%s, %s: %v", text.Name, protocol, err)
			}
			connection.Close()
		}
	}
}

// isOf tells whether a condition holds for a field, as the API takes it.
func isOf(field, value string) string {
	return fmt.Sprintf(`eq(%s,"%s")`, field, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value))
}

func TestWhatStrangersSendIsInertInEachForm(t *testing.T) {
	s := bareStage(t)
	streams := s.receivers()
	s.recordAll(mirror(t), 0, client.Object{"all_headers": true}, streams.flags()...)
	speakHTTP2(s)
	streams.streamTo(s)
	sent := s.strangers()
	s.sendRefused()
	s.nameObjects()

	s.eventually("each request has its record", func() error {
		for _, request := range sent {
			if _, err := s.recordOf(request); err != nil {
				return err
			}
		}
		return nil
	})
	var records []client.Object // of sent
	for _, request := range sent {
		record, err := s.recordOf(request)
		s.must(err)
		s.holdsExactly(record, request)
		records = append(records, record)
	}
	all := s.allRecords()
	s.haveNothingRefused(all)
	s.valuesAreCounted(sent)
	s.tablesAreInert(len(sent))
	s.commandsPrintNoControl(sent, records)
	streams.check(s, all, records)
}

// recordOf finds the only record of a request by each of its fields, as it was sent or as the API shows it.
func (s *stage) recordOf(request hostile.Request) (client.Object, error) {
	asked := url.Values{"type": {"1"}}
	for field, value := range request.Recorded() {
		if shown := logtext.Encode(value); request.HTTP2 || logtext.Decode(value) != value {
			value = shown
		}
		asked.Add("filter", isOf(field, value))
	}
	page, err := s.records(asked.Encode())
	if err == nil && len(page.Results) != 1 {
		err = fmt.Errorf("%d records of %s: %q", len(page.Results), request.Name, asked["filter"])
	}
	if err != nil {
		return nil, err
	}
	return page.Results[0], nil
}

// holdsExactly compares a record with what was sent.
func (s *stage) holdsExactly(record client.Object, request hostile.Request) {
	s.Helper()
	for field, value := range request.Recorded() {
		if got := record[field]; got != logtext.Encode(value) {
			s.Errorf("%s: %s is %q, want %q", request.Name, field, got, logtext.Encode(value))
		}
	}
	head := request.Fields()[1]
	if headers, _ := record["all_request_headers"].(string); !strings.Contains(logtext.Decode(headers),
		head[0]+": "+head[1]+"\r\n") {
		s.Errorf("%s: the header fields are %q, and have no %q", request.Name, headers, head)
	}
	if record["trace_id"] != nil {
		s.Errorf("%s: it is taken for the trace %v", request.Name, record["trace_id"])
	}
}

// allRecords are those of requests and of connections.
func (s *stage) allRecords() (all []client.Object) {
	s.Helper()
	for _, kind := range []string{"0", "1"} {
		page, err := s.records("page_size=10000&type=" + kind)
		s.must(err)
		all = append(all, page.Results...)
	}
	return all
}

// haveNothingRefused checks that records have no byte that the protocols refuse, no name of a server that is none, and
// no cookie.
func (s *stage) haveNothingRefused(records []client.Object) {
	s.Helper()
	for _, record := range records {
		for field, value := range record {
			text := logtext.Decode(fmt.Sprint(value))
			if strings.HasSuffix(field, "_headers") {
				text = strings.ReplaceAll(text, "\r\n", "")
			}
			if at := strings.IndexFunc(text, func(char rune) bool {
				return char < ' ' && char != '\t' || char == 0x7f
			}); at >= 0 {
				s.Errorf("%s has %q", field, text[at:min(len(text), at+20)])
			}
			if strings.Contains(text, hostile.Secret) {
				s.Errorf("%s has a cookie: %q", field, text)
			}
		}
		name, _ := record["sni_hostname"].(string)
		if strings.ContainsFunc(name, func(char rune) bool {
			return char > unicode.MaxASCII || !unicode.IsLetter(char) && !unicode.IsDigit(char) &&
				!strings.ContainsRune("-_.", char)
		}) {
			s.Errorf("sni_hostname is %q", name)
		}
	}
}

// valuesAreCounted checks that the most frequent values are exact, too.
func (s *stage) valuesAreCounted(sent []hostile.Request) {
	s.Helper()
	fields := []string{"uri_path", "uri_query", "user_agent", "referer", "host", "method"}
	page, err := s.records("type=1&page_size=1000&facets=" + strings.Join(fields, ","))
	s.must(err)
	counted := map[string]bool{}
	for _, facet := range page.Results {
		values, _ := facet["values"].([]any)
		for _, value := range values {
			counted[fmt.Sprint(facet["field"], " ", value.(map[string]any)["value"])] = true
		}
	}
	for _, request := range sent {
		recorded := request.Recorded()
		for _, field := range fields {
			if !counted[field+" "+logtext.Encode(recorded[field])] {
				s.Errorf("%s: no facet of %s has %q", request.Name, field, recorded[field])
			}
		}
	}
}

// tablesAreInert checks the tables that the API and the command line make for spreadsheets.
func (s *stage) tablesAreInert(least int) {
	s.Helper()
	printed, err := s.command("logs", "web", "--output", "csv", "--most", "10000").Output()
	s.must(err)
	tables := map[string]string{"weir logs": string(printed)}
	token := s.token()
	for name, path := range map[string]string{
		"records": "analytics/logs?type=1&virtualservice=web&page_size=10000&format=csv",
		"groups":  "analytics/logs?type=1&virtualservice=web&page_size=1000&format=csv&groupby=user_agent,uri_path",
		"events":  "analytics/logs?type=2&page_size=1000&format=csv", "audit": "audit?page_size=1000&format=csv",
	} {
		tables[name] = s.page(token, "admin", "/api/"+path)
	}
	for name, table := range tables {
		s.printable(name, table)
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil || len(rows) <= least && name != "events" && name != "audit" && name != "groups" {
			s.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if first, _ := utf8.DecodeRuneInString(cell); strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) &&
					cell != "" {
					s.Errorf("%s: a cell is a formula: %q", name, cell)
				}
			}
		}
	}
}

// printable checks that a terminal only shows a text. Characters that stand for bytes (package logs/text) do no harm.
func (s *stage) printable(name, text string) {
	s.Helper()
	if at := strings.IndexFunc(text, func(char rune) bool {
		return char != '\n' && !unicode.IsPrint(char) && (char < 0x10fe80 || char > 0x10feff)
	}); at >= 0 {
		s.Errorf("%s has %q", name, text[max(0, at-40):min(len(text), at+20)])
	}
	if !utf8.ValidString(text) {
		s.Errorf("%s is no UTF-8", name)
	}
}

// nameObjects has objects and failed logins with hostile names, so that events and audit entries have them.
func (s *stage) nameObjects() {
	s.Helper()
	for n, text := range hostile.Texts {
		_, err := s.controller.Session.Create(s.ctx, "virtualservice", client.Object{"name": text.Bytes,
			"vsvip_ref": client.Ref("vsvip", "web"), "pool_ref": client.Ref("pool", "web"),
			"services": []any{client.Object{"port": 20_000 + n}}})
		if hasControl := strings.ContainsFunc(text.Bytes, unicode.IsControl); hasControl != client.IsStatus(err,
			http.StatusBadRequest) || err != nil && !hasControl {
			s.Errorf("a virtual service named %s: %v", text.Name, err)
		}
	}
}

// commandsPrintNoControl checks all that the command line prints about requests, objects and events.
func (s *stage) commandsPrintNoControl(sent []hostile.Request, records []client.Object) {
	s.Helper()
	commands := [][]string{{"events", "--most", "1000"}, {"events", "--most", "1000", "-o", "json"}, {"audit"},
		{"audit", "-o", "json"}, {"top", "--once"}, {"top", "--once", "--json"}, {"vs", "list"},
		{"vs", "list", "-o", "json"},
		{"logs", "web", "--most", "10000"}, {"logs", "web", "--most", "10000", "-o", "json"},
		{"logs", "web", "--most", "10000", "--connections"}}
	for n, record := range records {
		if !sent[n].Call {
			commands = append(commands, []string{"explain", fmt.Sprint(record["request_id"])})
		}
	}
	for _, text := range hostile.Texts {
		if strings.ContainsFunc(text.Bytes, unicode.IsControl) {
			continue
		}
		agent := "User-Agent: " + text.Value()
		commands = append(commands, []string{"explain", plainURL("/" + url.PathEscape(text.Bytes)), "-H", agent})
		if !strings.HasPrefix(text.Bytes, "-") && utf8.ValidString(text.Bytes) {
			commands = append(commands, []string{"vs", "show", text.Bytes}, []string{"top", "vs", text.Bytes, "--once"})
		}
	}
	run := s.commandLine()
	for _, args := range commands {
		command := run(args...)
		var warned strings.Builder
		command.Stderr = &warned
		printed, err := command.Output()
		if err != nil {
			s.Errorf("weir %q: %v: %s", args, err, warned.String())
		}
		name := fmt.Sprintf("weir %q", args)
		s.printable(name, string(printed)+warned.String())
		if args[0] == "explain" && !slices.Contains(args, "-H") {
			contains(s.T, string(printed), "the virtual service web", "of the engine engine-1", "It took ")
		}
	}
	s.linesAreRecords(len(sent))
}

// linesAreRecords follows the records as lines of JSON.
func (s *stage) linesAreRecords(least int) {
	s.Helper()
	following := s.command("logs", "web", "--follow", "--output", "json", "--most", "10000")
	out, err := following.StdoutPipe()
	s.must(err)
	s.must(following.Start())
	defer func() { _, _ = following.Process.Kill(), following.Wait() }()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for range least {
		var record client.Object
		if !lines.Scan() {
			s.Fatalf("the lines end: %v", lines.Err())
		}
		s.printable("weir logs --follow", lines.Text())
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil || record["request_id"] == nil {
			s.Errorf("%v: the line is %q", err, lines.Text())
		}
	}
}
