package model

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// pathsOf returns what the only rule of the child compares paths with.
func pathsOf(t *testing.T, m *Model) []string {
	t.Helper()
	at := slices.IndexFunc(m.VirtualServices, func(vs *VirtualService) bool { return vs.Name == "child" })
	if at < 0 {
		t.Fatal("there is no child")
	}
	return m.VirtualServices[at].VHMatches[0].Rules[0].Matches.Path.Values
}

func TestAChildFollowsTheStringGroupsOfItsRules(t *testing.T) {
	w, keeper := seed(t), &worldKeeper{}
	w.add(t, "stringgroup", "strings-1", `{"name":"texts","kv":[{"key":"/a"}]}`)
	w.add(t, "virtualservice", "vs-parent", `{"name":"parent","type":"VS_TYPE_VH_PARENT","services":[{"port":80}],
		"vh_type":"VS_TYPE_VH_ENHANCED","vip":[{"ip_address":{"addr":"192.0.2.9","type":"V4"}}]}`)
	w.add(t, "virtualservice", "vs-child", `{"name":"child","type":"VS_TYPE_VH_CHILD","vh_type":"VS_TYPE_VH_ENHANCED",
		"vh_parent_vs_ref":"vs-parent","pool_ref":"pool-1","vh_matches":[{"host":"a.test","rules":[{"name":"r","matches":{
		"path":{"match_criteria":"EQUALS","match_str":["/own","/a"],"string_group_refs":["strings-1"]}}}]}]}`)
	before, _ := keeper.Build(1, w)
	if got := pathsOf(t, before); !reflect.DeepEqual(got, []string{"/own", "/a"}) {
		t.Errorf("the paths are %q", got)
	}
	change := func(keys ...string) (*Model, []Finding) {
		at := slices.IndexFunc(w["stringgroup"], func(o schema.Object) bool { return o["uuid"] == "strings-1" })
		group := schema.Clone(w["stringgroup"][at])
		var pairs []any
		for _, key := range keys {
			pairs = append(pairs, schema.Object{"key": key})
		}
		group["kv"] = pairs
		w["stringgroup"] = slices.Clone(w["stringgroup"])
		w["stringgroup"][at] = group
		return keeper.Build(2, w)
	}
	after, _ := change("/b", "/a", "/c")
	if got := pathsOf(t, after); !reflect.DeepEqual(got, []string{"/own", "/a", "/b", "/c"}) {
		t.Errorf("with other texts in the group the paths are %q", got)
	}
	if got := pathsOf(t, before); !reflect.DeepEqual(got, []string{"/own", "/a"}) {
		t.Errorf("the paths of the model before became %q", got)
	}
	var many []string
	for i := range kinds.TextsMost {
		many = append(many, fmt.Sprint("/", i))
	}
	_, findings := change(many...)
	if !slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Name == "child" && strings.Contains(f.Message, "engines try at most 1024")
	}) {
		t.Errorf("too many texts: the findings are %v", findings)
	}
}
