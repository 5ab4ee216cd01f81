package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

func TestTableLinesUpAndEndsWithoutSpaces(t *testing.T) {
	var out bytes.Buffer
	rows := table{{"NAME", "STATE", "NOTE"}, {"café", "UP", ""}, {"a-long-name", "", "x"}, {"z"}}
	if err := rows.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = "" +
		"NAME          STATE   NOTE\n" +
		"café          UP\n" +
		"a-long-name           x\n" +
		"z\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestShowsEveryFieldThatHasAValue(t *testing.T) {
	var object client.Object
	err := json.Unmarshal([]byte(
		`{"url":"https://h/api/pool/pool-1#web","_last_modified":"1795220000000000","uuid":"pool-1","name":"web",
		"empty":"","none":[],"deep":{"none":{}},"enabled":false,"ratio":2.5,"big":12562432,
		"cloud_ref":"https://h/api/cloud/cloud-1#Default-Cloud","key":"-----BEGIN-----\nMIG\n",
		"servers":[{"ip":{"addr":"10.0.0.1"},"port":80}],
		"runtime":{"oper_status":{"state":"OPER_UP","reason":[]},"vip_runtime":[{"vip_id":"0"}]}}`), &object)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := fieldsOf(object).print(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "show.txt", out.Bytes())
}

func TestEveryColumnReadsAnObjectThatHasNothing(t *testing.T) {
	for _, kind := range schema.Kinds() {
		rows := tableOf(kind, []client.Object{{"name": "x"}}, column.Others{}, time.Time{})
		if rows[1][0] != "x" || len(rows[0]) != len(rows[1]) || len(rows[0]) < 2 {
			t.Errorf("%s: %q", kind.Name, rows)
		}
	}
}
