package lab

import "testing"

func TestReadsTheReportInTheLastLine(t *testing.T) {
	report, err := parseLoadReport([]byte("warming up\n" +
		`{"requests":7,"tps":3.5,"error_total":1,"errors":{"connect":1},` +
		`"tls":{"version":"TLS 1.2","full_handshakes":7},"per_value":{"127.0.0.1:80":7}}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if report.Requests != 7 || report.TPS != 3.5 || report.Errors["connect"] != 1 || report.TLS.FullHandshakes != 7 ||
		report.PerValue["127.0.0.1:80"] != 7 {
		t.Errorf("got %+v", report)
	}
	for _, text := range []string{"", "no report", "{"} {
		if _, err := parseLoadReport([]byte(text)); err == nil {
			t.Errorf("%q was taken for a report", text)
		}
	}
}

func TestCallsWhoWaitsForALineOnceItIsWhole(t *testing.T) {
	called := 0
	h := &herald{calls: map[string]func(){"weir-load: begun": func() { called++ }}}
	for i, text := range []string{"a warning\nweir-load:", " beg", "un\nweir-load: over\n"} {
		if called != 0 {
			t.Errorf("called before piece %d", i)
		}
		if n, err := h.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if called != 1 || h.said.String() != "a warning\nweir-load: begun\nweir-load: over\n" {
		t.Errorf("called %d times; said %q", called, h.said.String())
	}
}
