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

func TestShowsWhatEachMonitorSaysOfEachServer(t *testing.T) {
	var pool client.Object
	if err := json.Unmarshal([]byte(`{"name":"web","health_monitor_refs":["https://c/api/healthmonitor/hm-1#shop"],
		"runtime":{"servers":[
		{"server_id":"10.0.0.1:80","oper_status":{"state":"OPER_UP"},"engines":[
			{"engine":"a","monitors":[{"health_monitor_ref":"/api/healthmonitor/hm-1","up":true,"response_time_us":1500}]},
			{"engine":"b","monitors":[{"health_monitor_ref":"/api/healthmonitor/hm-1","up":true,"response_time_us":2500}]}]},
		{"server_id":"10.0.0.2:80","oper_status":{"state":"OPER_DOWN"},"engines":[{"engine":"a","monitors":[
			{"health_monitor_ref":"/api/healthmonitor/hm-1","up":true,"response_time_us":700},
			{"health_monitor_ref":"/api/healthmonitor/hm-2","up":false,"response_time_us":90,
			"reason":"HTTP 503 from GET /, it is in maintenance"}]}]}]}}`), &pool); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printParts(&out, checksOf(pool)); err != nil {
		t.Fatal(err)
	}
	golden(t, "checks.txt", out.Bytes())
	if rows := checksOf(client.Object{"name": "web"}); rows != nil {
		t.Errorf("nothing is checked, and there is a table: %v", rows)
	}
}
