package telemetry

import (
	"strings"
	"testing"
)

func TestClientsThatFailAreCountedAndThoseThatDidNotRunAreAFault(t *testing.T) {
	ended := testsEnded{ends: map[string]string{}}
	for _, client := range foreignClients {
		ended.ends[client] = "pass"
	}
	if found := judgeForeign(ended); found.Value != 0 || found.Fault != "" {
		t.Errorf("got %+v", found)
	}
	ended.ends[foreignClients[0]], ended.ends[foreignClients[1]] = "fail", "skip"
	delete(ended.ends, foreignClients[2])
	found := judgeForeign(ended)
	if found.Value != 1 || !strings.Contains(found.Fault, foreignClients[1]) ||
		!strings.Contains(found.Fault, foreignClients[2]) ||
		!strings.Contains(found.Note, "failed: "+foreignClients[0]) {
		t.Errorf("got %+v", found)
	}
}

func TestEndsAndOutputOfTestsAreRead(t *testing.T) {
	ended, err := readTests([]byte(`{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"from /new to the first 200: 4321 ms, 6 actions\n"}
{"Action":"pass","Test":"TestA/part"}
{"Action":"fail","Test":"TestA"}
{"Action":"fail","Package":"p"}
`))
	if err != nil || len(ended.ends) != 2 || len(ended.withEnd("fail")) != 1 {
		t.Errorf("got %+v, %v", ended, err)
	}
	if took := newServiceTook.FindStringSubmatch(ended.printed); took == nil || took[1] != "4321" || took[2] != "6" {
		t.Errorf("got %v", took)
	}
	if _, err := readTests([]byte("FAIL\n")); err == nil {
		t.Error("what is no JSON is read")
	}
}
