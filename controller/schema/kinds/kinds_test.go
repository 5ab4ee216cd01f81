package kinds

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func kindOf(t *testing.T, name string) *schema.Kind {
	t.Helper()
	k, ok := schema.Lookup(name)
	if !ok {
		t.Fatalf("there is no kind %s", name)
	}
	return k
}

// created returns what the controller stores after a POST of the body, except that references by name are not resolved.
func created(t *testing.T, kind, body string) schema.Object {
	t.Helper()
	k := kindOf(t, kind)
	o, err := k.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	k.Fill(o)
	if err := k.Check(o); err != nil {
		t.Fatal(err)
	}
	return o
}

func file(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func asJSON(t *testing.T, o any) any {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestFillsWhatAviFills(t *testing.T) {
	for _, kind := range []string{"pool", "virtualservice", "vsvip"} {
		t.Run(kind, func(t *testing.T) {
			var want any
			if err := json.Unmarshal([]byte(file(t, kind+"_reply.json")), &want); err != nil {
				t.Fatal(err)
			}
			got := asJSON(t, created(t, kind, file(t, kind+"_request.json")))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%v\nwant\n%v", got, want)
			}
		})
	}
}

func TestTellsTheTypeOfAnAddressThatLeavesItOut(t *testing.T) {
	got := asJSON(t, created(t, "pool",
		`{"name":"p","servers":[{"ip":{"addr":"10.0.0.1"}},{"ip":{"addr":"2001:db8::1"}},
		{"ip":{"addr":"1.origin.example."}},{"ip":{"addr":"10.0.0.2","type":null}}]}`))
	for i, want := range []string{"V4", "V6", "DNS", "V4"} {
		server := got.(map[string]any)["servers"].([]any)[i].(map[string]any)
		if ip := server["ip"].(map[string]any); ip["type"] != want {
			t.Errorf("servers[%d].ip is %v; want type %s", i, ip, want)
		}
	}
}

func TestSkipsARealDefaultThatTheStoreKeptAsWhole(t *testing.T) {
	profile := created(t, "analyticsprofile", `{"name":"a"}`)
	profile["apdex_rtt_tolerated_factor"] = int64(4)
	if _, ok := kindOf(t, "analyticsprofile").SkipDefaults(profile)["apdex_rtt_tolerated_factor"]; ok {
		t.Error("4 is the default of a field whose default is 4.0")
	}
	typed, err := schema.Into[AnalyticsProfile](profile)
	if err != nil || typed.ApdexRTTFactor != 4 {
		t.Errorf("got %v, %v", typed, err)
	}
}

func TestNumbersVipsAroundTheIdsThatAreTaken(t *testing.T) {
	address := `"ip_address":{"addr":"10.0.0.1","type":"V4"}`
	o := created(t, "vsvip", `{"name":"v","vip":[{`+address+`},{"vip_id":"0",`+address+`},{`+address+`}]}`)
	var got []string
	for _, vip := range objects(o["vip"]) {
		got = append(got, vip["vip_id"].(string))
	}
	if !slices.Equal(got, []string{"1", "0", "2"}) {
		t.Errorf("got %v", got)
	}
}

func TestGivesAVirtualServiceWithTLSAProfileAndACertificate(t *testing.T) {
	tls := created(t, "virtualservice",
		`{"name":"v","vsvip_ref":"vsvip-1","services":[{"port":443,"enable_ssl":true}]}`)
	if tls["ssl_profile_ref"] != "/api/sslprofile?name=System-Standard" {
		t.Errorf("profile %v", tls["ssl_profile_ref"])
	}
	if refs := tls["ssl_key_and_certificate_refs"]; !reflect.DeepEqual(refs,
		[]any{"/api/sslkeyandcertificate?name=System-Default-Cert"}) {
		t.Errorf("certificates %v", refs)
	}
	plain := created(t, "virtualservice", `{"name":"v","vsvip_ref":"vsvip-1","services":[{"port":80}]}`)
	if _, ok := plain["ssl_profile_ref"]; ok {
		t.Error("a plain virtual service got an SSL profile")
	}
	const child = `{"name":"v","type":"VS_TYPE_VH_CHILD","vh_parent_vs_ref":"virtualservice-1","vh_domain_name":["a.test"]`
	for body, profile := range map[string]any{
		child + `,"ssl_key_and_certificate_refs":["sslkeyandcertificate-1"]}`: "/api/sslprofile?name=System-Standard",
		child + `}`: nil,
	} {
		if got := created(t, "virtualservice", body)["ssl_profile_ref"]; got != profile {
			t.Errorf("%s: profile %v", body, got)
		}
	}
}

func TestProfilesOfDatagramsHaveTheNamesAndDefaultsOfAvi(t *testing.T) {
	network := created(t, "networkprofile", `{"name":"n","profile":{"type":"PROTOCOL_TYPE_UDP_FAST_PATH",
		"udp_fast_path_profile":{"dsr_profile":{"dsr_type":"DSR_TYPE_L2"}}}}`)
	dsr := network["profile"].(schema.Object)["udp_fast_path_profile"].(schema.Object)["dsr_profile"]
	want := schema.Object{"dsr_type": "DSR_TYPE_L2", "dsr_encap_type": "ENCAP_IPINIP"}
	if !reflect.DeepEqual(dsr, want) {
		t.Errorf("got %v", dsr)
	}
	dns := created(t, "applicationprofile",
		`{"name":"d","type":"APPLICATION_PROFILE_TYPE_DNS","dns_service_profile":{}}`)
	if ttl := dns["dns_service_profile"].(schema.Object)["negative_caching_ttl"]; ttl != int64(30) {
		t.Errorf("got %v", ttl)
	}
}

func TestTakesPortZeroForTheOtherPort(t *testing.T) {
	vs := created(t, "virtualservice", `{"name":"v","vsvip_ref":"vsvip-1","services":[{"port":80,"port_range_end":0}]}`)
	if end := objects(vs["services"])[0]["port_range_end"]; end != int64(80) {
		t.Errorf("the range ends at %v", end)
	}
	pool, err := schema.Into[Pool](created(t, "pool",
		`{"name":"p","default_server_port":81,"servers":[{"ip":{"addr":"10.0.0.1","type":"V4"},"port":0}]}`))
	if err != nil || pool.Servers[0].ID(pool.DefaultServerPort) != "10.0.0.1:81" {
		t.Errorf("got %+v, %v", pool, err)
	}
}

func TestTakesTheLargerOfHeaderAndRequestForAWholeHead(t *testing.T) {
	profile := schema.Defaults[HTTPProfile]()
	if got := profile.RequestHeadKiB(); got != 48 {
		t.Errorf("by default: got %d KiB", got)
	}
	profile.ClientMaxHeaderKiB = 64
	if got := profile.RequestHeadKiB(); got != 64 {
		t.Errorf("with a header of 64 KiB: got %d KiB", got)
	}
}

func TestNamesAUserByEitherName(t *testing.T) {
	for _, body := range []string{`{"username":"bob"}`, `{"name":"bob"}`} {
		if o := created(t, "user", body); o["name"] != "bob" || o["username"] != "bob" {
			t.Errorf("%s became %v and %v", body, o["name"], o["username"])
		}
	}
}

func TestPartsOfPrivateKindsArePrivate(t *testing.T) {
	for of, parts := range map[string][]string{
		"errorpageprofile": {"errorpagebody"},
		"poolgroup":        {"prioritylabels", "pool"},
	} {
		for _, part := range parts {
			if kindOf(t, of).Private && !kindOf(t, part).Private {
				t.Errorf("other tenants see each %s of admin, and no %s", part, of)
			}
		}
	}
}
