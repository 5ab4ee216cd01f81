package admit

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestChildIsRefusedThatItsParentCannotHave(t *testing.T) {
	gate := openGate(t)
	vip := []any{schema.Object{"vip_id": "1", "ip_address": schema.Object{"addr": "192.0.2.1", "type": "V4"}}}
	ports := func(port int64) []any { return []any{schema.Object{"port": port}} }
	child := func(name string, edit schema.Object) schema.Object {
		made := schema.Object{"name": name, "type": "VS_TYPE_VH_CHILD", "vh_parent_vs_ref": "/api/virtualservice/front",
			"vh_domain_name": []any{name + ".test"}}
		for field, value := range edit {
			if made[field] = value; value == nil {
				delete(made, field)
			}
		}
		return made
	}
	matching := func(path string) []any {
		return []any{schema.Object{"host": "a.test", "rules": []any{schema.Object{"name": "r", "matches": schema.Object{
			"path": schema.Object{"match_criteria": "BEGINS_WITH", "match_str": []any{path}}}}}}}
	}
	posting := func(values ...any) []any {
		field := schema.Object{"hdr": "X-Beta", "match_criteria": "HDR_EQUALS", "value": values}
		return []any{schema.Object{"host": "a.test", "rules": []any{schema.Object{"name": "r", "matches": schema.Object{
			"hdrs": []any{field}}}}}}
	}
	from := func(countries ...any) []any {
		place := schema.Object{"attribute": "ATTRIBUTE_COUNTRY_CODE", "match_operation": "IS_IN", "values": countries}
		return []any{schema.Object{"host": "a.test", "rules": []any{schema.Object{"name": "r", "matches": schema.Object{
			"geo_matches": []any{place}}}}}}
	}
	matches := matching("/a")
	for _, step := range []struct {
		uuid, refusal string
		object        schema.Object
	}{
		{"front", "", schema.Object{"name": "front", "type": "VS_TYPE_VH_PARENT", "vip": vip, "services": ports(80)}},
		{"requests", "", schema.Object{"name": "requests", "type": "VS_TYPE_VH_PARENT", "vip": vip,
			"services": ports(81),
			"vh_type":  "VS_TYPE_VH_ENHANCED"}},
		{"normal", "", schema.Object{"name": "normal", "vip": vip, "services": ports(82)}},
		{"a", "", child("a", nil)},
		{"b", "vh_domain_name[1]: is wanted by child a of the same parent already",
			child("b", schema.Object{"vh_domain_name": []any{"b.test", "A.test"}})},
		{"c", "vh_parent_vs_ref: normal has type VS_TYPE_NORMAL",
			child("c", schema.Object{"vh_parent_vs_ref": "/api/virtualservice/normal"})},
		{"d", "vh_parent_vs_ref: is required", child("d", schema.Object{"vh_parent_vs_ref": nil})},
		{"e", "vh_type: differs from that of its parent requests",
			child("e", schema.Object{"vh_parent_vs_ref": "/api/virtualservice/requests"})},
		{"f", "services: a child has no ports", child("f", schema.Object{"services": ports(83)})},
		{"g", "vip: a child has no address", child("g", schema.Object{"vip": vip})},
		{"h", "vh_domain_name: is empty", child("h", schema.Object{"vh_domain_name": nil})},
		{"i", "vh_domain_name[0]: \"*\" is no name", child("i", schema.Object{"vh_domain_name": []any{"*"}})},
		{"j", "", child("j", schema.Object{"vh_parent_vs_ref": "/api/virtualservice/requests",
			"vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil, "vh_matches": matches})},
		{"k", "vh_matches[0].rules[0]: is wanted by child j", child("k", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": matches})},
		{"m", "vh_matches[0].rules[0]: is wanted by child j", child("m", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": matching("/A")})},
		{"n", "", child("n", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": posting("a")})},
		{"o", "", child("o", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": posting("b")})},
		{"p", "vh_matches[0].rules[0]: is wanted by child n", child("p", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": posting("a")})},
		{"q", "vh_matches[0].rules[0].matches.hdrs[0].value: is empty", child("q", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": posting()})},
		{"r", "", child("r", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": from("DE", "FR")})},
		{"s", "vh_matches[0].rules[0]: is wanted by child r", child("s", schema.Object{
			"vh_parent_vs_ref": "/api/virtualservice/requests", "vh_type": "VS_TYPE_VH_ENHANCED", "vh_domain_name": nil,
			"vh_matches": from("fr", "FR", "DE")})},
		{"l", "vh_parent_vs_ref: only a VS_TYPE_VH_CHILD has a parent", schema.Object{"name": "l", "vip": vip,
			"services": ports(84), "vh_parent_vs_ref": "/api/virtualservice/front"}},
	} {
		err := gate.Update(t.Context(), System("test"), func(tx *Tx) error {
			_, err := tx.Create(serviceKind, step.object, step.uuid)
			return err
		})
		if step.refusal == "" && err != nil || step.refusal != "" && (err == nil ||
			!strings.Contains(err.Error(), step.refusal)) {
			t.Errorf("%s: got %v, want %q", step.uuid, err, step.refusal)
		}
	}
	_, err := gate.Change(t.Context(), gate.by(t, serviceKind), "front", func(o schema.Object) (schema.Object, error) {
		o["vh_type"] = "VS_TYPE_VH_ENHANCED"
		return o, nil
	})
	if err == nil || !strings.Contains(err.Error(), "vh_type: cannot change while it has children: a is one") {
		t.Errorf("parent with children changed: %v", err)
	}
	if err := gate.Delete(t.Context(), gate.by(t, serviceKind), "front"); err == nil ||
		!strings.Contains(err.Error(), "a") {
		t.Errorf("parent with children deleted: %v", err)
	}
}
