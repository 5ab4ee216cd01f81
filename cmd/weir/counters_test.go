package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

func TestShowsCountersByProtocolTimesAndFailuresByCause(t *testing.T) {
	var object client.Object
	err := json.Unmarshal([]byte(`{"name":"web","uuid":"vs-1","runtime":{"oper_status":{"state":"OPER_UP"},"counters":{
		"connections":12,"open_connections":3,"http2_connections":2,"open_http2_connections":1,"requests":42,
		"http2_requests":7,"open_http2_requests":1,"grpc_calls":4,"new_counter":5,"responses_2xx":40,
		"errors_client_flood":1,"errors_no_server":2,
		"per_second":{"connections":1.002004008016032,"requests":3.5,"errors_no_server":0}},
		"times":{"seconds":57.996,"requests":40,"total_ms":{"mean":30.125,"p50":22.4,"p95":102.634,"p99":1205.219},
		"wait_ms":{"mean":0.5,"p50":0.009,"p95":0.981,"p99":7},
		"response_ms":{"mean":28.625,"p50":20.541,"p95":100.1,"p99":1105.2},
		"server_rtt_ms":{"mean":0.625,"p50":0.541,"p95":1.1,"p99":5.2},
		"app_response_ms":{"mean":28,"p50":20,"p95":99,"p99":1100},
		"transfer_ms":{"mean":1,"p50":0,"p95":4.05,"p99":12.75},"client_rtt_connections":5,
		"client_rtt_ms":{"mean":31.5,"p50":28,"p95":90.25,"p99":180}}}}`), &object)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := show(&out, object, time.Time{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "counters.txt", out.Bytes())
}
