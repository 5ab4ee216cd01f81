package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

func TestShowsCountersByProtocolAndFailuresByCause(t *testing.T) {
	var object client.Object
	err := json.Unmarshal([]byte(`{"name":"web","uuid":"vs-1","runtime":{"oper_status":{"state":"OPER_UP"},"counters":{
		"connections":12,"open_connections":3,"http2_connections":2,"open_http2_connections":1,"requests":42,
		"http2_requests":7,"open_http2_requests":1,"grpc_calls":4,"new_counter":5,"responses_2xx":40,
		"errors_client_flood":1,"errors_no_server":2,
		"per_second":{"connections":1.002004008016032,"requests":3.5,"errors_no_server":0}}}}`), &object)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := show(&out, object, time.Time{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "counters.txt", out.Bytes())
}

func TestSaysWhatEachCauseOfTheDataPlaneMeans(t *testing.T) {
	source, err := os.ReadFile("../../dataplane/telemetry/src/cause.rs")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^    [A-Z]\w+ = "(\w+)",$`).FindAllSubmatch(source, -1)
	for _, cause := range named {
		if causes[string(cause[1])] == "" {
			t.Errorf("%s is not explained", cause[1])
		}
	}
	if len(named) != len(causes) {
		t.Errorf("%d causes are explained, and the data plane has %d", len(causes), len(named))
	}
}
