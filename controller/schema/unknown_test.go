package schema

import (
	"fmt"
	"strings"
	"testing"
)

func TestFindsTheFieldThatAKindDoesNotHave(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"name":"p","servers":[{"ip":{"addr":"10.0.0.1"},"port":80}],"markers":[{"key":"env"}]}`, ""},
		{`{"nane":"p"}`, "pool: nane: is unknown; did you mean name?"},
		{`{"colour":"red"}`, "pool: colour: is unknown"},
		{`{"name":"p","severs":[]}`, "pool: severs: is unknown; did you mean servers?"},
		{`{"servers":[{},{"ip":{"adr":"10.0.0.1"}}]}`, "pool: servers[1].ip.adr: is unknown; did you mean addr?"},
		{`{"http2":true}`, "pool: http2: is unknown; did you mean enable_http2?"},
		{`{"max_http2_header_field_size":80}`,
			"pool: max_http2_header_field_size: is unknown; did you mean http2_properties.max_http2_header_field_size?"},
		{`{"servers":{"prt":80}}`, ""}, // Decode finds a value of the wrong type
	} {
		o, err := Parse("pool", []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := kindByName["pool"].Unknown(o); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}

func TestCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"port", "", 4}, {"port", "prt", 1}, {"port", "part", 1}, {"kitten", "sitting", 3}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("%q → %q: %d edits, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestTellsOfManyUnknownFieldsThatThereAreMore(t *testing.T) {
	o := Object{strings.Repeat("long", 1000): 1}
	for i := range 100 {
		o[fmt.Sprintf("field %d", i)] = i
	}
	found := kindByName["pool"].AllUnknown(o)
	last := found[len(found)-1].Error()
	if len(found) != unknownMax+1 || last != "pool: has more fields that are unknown" {
		t.Errorf("%d are told of, the last is %s", len(found), last)
	}
	if found := kindByName["pool"].AllUnknown(Object{strings.Repeat("long", 1000): 1}); len(found) != 1 ||
		len(found[0].Error()) > 100 {
		t.Errorf("a long name is told of as %v", found)
	}
}
