package schema_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestReadsWithDefaultsAndLeavesTheStoredObject(t *testing.T) {
	stored := schema.Object{"keep_query": false}
	read, err := schema.IntoFilled[kinds.HTTPRedirectAction](stored)
	if err != nil || read.KeepQuery || read.StatusCode != "HTTP_REDIRECT_STATUS_CODE_302" {
		t.Errorf("got %v, %v", read, err)
	}
	if !maps.Equal(stored, schema.Object{"keep_query": false}) {
		t.Errorf("changed the object to %v", stored)
	}
}

func TestChecksFieldsAsAWriteDoes(t *testing.T) {
	host := schema.Object{"addr": "10.0.0.9", "type": "V4"}
	for _, test := range []struct {
		stored schema.Object
		field  string // empty: none is refused
	}{
		{schema.Object{"match_criteria": "IS_IN", "addrs": []any{host},
			"prefixes": []any{schema.Object{"ip_addr": host, "mask": int64(0)}}}, ""},
		{schema.Object{"match_criteria": "IS_IN"}, ""},
		{schema.Object{"addrs": []any{host}}, "client_ip.match_criteria"},
		{schema.Object{"match_criteria": "IS_NEAR"}, "client_ip.match_criteria"},
		{schema.Object{"match_criteria": "IS_IN", "addrs": slices.Repeat([]any{host}, 257)}, "client_ip.addrs"},
		{schema.Object{"match_criteria": "IS_IN", "prefixes": []any{
			schema.Object{"ip_addr": host, "mask": int64(129)}}}, "client_ip.prefixes[0].mask"},
	} {
		read, err := schema.IntoFilled[kinds.IPAddrMatch](test.stored)
		if err != nil {
			t.Fatal(err)
		}
		var field string
		if problem := schema.CheckFields("client_ip", read); problem != nil {
			field = problem.Field
		}
		if field != test.field {
			t.Errorf("%v: refused %q, want %q", test.stored, field, test.field)
		}
	}
}
