package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/weir-lb/weir/client"
)

func TestShowsHowLongEachServerOfAPoolNeedsAndWhatEachWorkerOfAnEngineDoes(t *testing.T) {
	read := func(text string) (object client.Object) {
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	pool := read(`{"name":"web","runtime":{"servers":[
		{"server_id":"10.0.0.1:80","oper_status":{"state":"OPER_UP"},
		"counters":{"open_connections":3,"responses_4xx":7,"responses_5xx":1,"failures":2,"per_second":{"requests":120.25}},
		"times":{"seconds":57.9,"responses":700,"app_response_ms":{"mean":5.25,"p50":4,"p95":9.5,"p99":12},
		"connects":3,"connect_ms":{"mean":0.25}}},
		{"server_id":"10.0.0.2:80","oper_status":{"state":"OPER_UP"},
		"counters":{"open_connections":40,"per_second":{"requests":1.5}},
		"times":{"seconds":40,"responses":9,"app_response_ms":{"mean":612.5,"p50":500,"p95":1200.5,"p99":1300}}},
		{"server_id":"10.0.0.3:80","oper_status":{"state":"OPER_DOWN"}}]}}`)
	engine := read(`{"name":"se","runtime":{"workers":[
		{"worker":0,"cpu_us":900,"cpu_percent":97.3,"batches":5,"events":6,"open_connections":12,"longest_batch_ms":1.25,
		"per_second":{"batches":2000.5,"events":81000}},
		{"worker":1,"cpu_us":9,"batches":5,"events":6,"open_connections":11}]}}`)
	_, workers := takeList(engine, "workers")
	var out bytes.Buffer
	if err := printParts(&out, serversOf(pool), workersOf(workers), serversOf(engine)); err != nil {
		t.Fatal(err)
	}
	golden(t, "servers.txt", out.Bytes())
	unused := read(`{"runtime":{"servers":[{"server_id":"10.0.0.3:80","counters":{"requests":7}}]}}`)
	if rows := serversOf(unused); rows != nil {
		t.Errorf("no server was used within the minute, and there is a table: %v", rows)
	}
}
