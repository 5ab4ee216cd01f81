package rest

import (
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// guarded creates a virtual service with references to kinds that Weir does not have, in the forms that clients send.
func (c *client) guarded(name string) schema.Object {
	c.h.t.Helper()
	body := onVip(c.vip(name), name, nil)
	body["security_policy_ref"] = "https://elsewhere/api/securitypolicy/securitypolicy-1#ours"
	body["dns_policies"] = []any{schema.Object{"index": 11, "dns_policy_ref": "/api/dnspolicy?name=ours"}}
	return c.want(http.StatusCreated, "POST", "/api/virtualservice", body)
}

func warningsIn(reply schema.Object) string {
	listed, _ := reply["weir_warnings"].([]any)
	var lines []string
	for _, item := range listed {
		warning := item.(schema.Object)
		lines = append(lines, fmt.Sprintf("%v: %v", warning["field"], warning["message"]))
	}
	return strings.Join(lines, "\n")
}

func TestFieldsOfKindsThatAreNotThereAreKeptAndTheReplySaysWhatComesOfThem(t *testing.T) {
	c := newHouse(t).login()
	made := c.guarded("v")
	const said = "dns_policies: engines do not apply DNS policies yet: it is not served while this is set\n" +
		"security_policy_ref: engines do not apply security policies yet: it is not served while this is set"
	if got := warningsIn(made); got != said {
		t.Errorf("the reply says\n%s", got)
	}
	read := c.want(http.StatusOK, "GET", path(made), nil)
	if _, warned := read["weir_warnings"]; warned {
		t.Error("an object that is read has what only the answer to a write has")
	}
	for _, shown := range []schema.Object{made, read} {
		if shown["security_policy_ref"] != "https://elsewhere/api/securitypolicy/securitypolicy-1#ours" ||
			fmt.Sprint(shown["dns_policies"]) != "[map[dns_policy_ref:/api/dnspolicy?name=ours index:11]]" {
			t.Errorf("read back %v", shown)
		}
	}
	again := c.want(http.StatusOK, "PUT", path(made), made) // the answer to the write, with its warnings and names
	if got := warningsIn(again); got != said || again["_last_modified"] != made["_last_modified"] {
		t.Errorf("sent back as it was, it says\n%s\nand is of %v, not %v", got, again["_last_modified"],
			made["_last_modified"])
	}
	if list := c.want(http.StatusOK, "GET",
		"/api/virtualservice?security_policy_ref.contains=securitypolicy-1&fields=dns_policies",
		nil); list["count"] != 1.0 ||
		list["results"].([]any)[0].(schema.Object)["dns_policies"] == nil {
		t.Errorf("found %v", list)
	}
}

func TestKeptFieldsArePatched(t *testing.T) {
	c := newHouse(t).login()
	at := path(c.guarded("v"))
	second := schema.Object{"index": 12, "dns_policy_ref": "/api/dnspolicy/two"}
	added := c.want(http.StatusOK, "PATCH", at, schema.Object{"add": schema.Object{"dns_policies": []any{second},
		"waf_policy_ref": "w"}})
	if len(added["dns_policies"].([]any)) != 2 || added["waf_policy_ref"] != "w" ||
		!strings.Contains(warningsIn(added), "waf_policy_ref") {
		t.Errorf("after add: %v", added)
	}
	replaced := c.want(http.StatusOK, "PATCH", at,
		schema.Object{"replace": schema.Object{"security_policy_ref": "/api/securitypolicy?name=b"}})
	if replaced["security_policy_ref"] != "/api/securitypolicy?name=b" {
		t.Errorf("after replace: %v", replaced)
	}
	c.want(http.StatusOK, "PATCH", at, schema.Object{"json_patch": []any{schema.Object{"op": "remove",
		"path": "/dns_policies/0"}}})
	left := c.want(http.StatusOK, "PATCH", at, schema.Object{"delete": schema.Object{
		"security_policy_ref": "", "waf_policy_ref": "", "dns_policies": []any{second}}})
	for _, gone := range []string{"security_policy_ref", "waf_policy_ref", "weir_warnings"} {
		if value, there := left[gone]; there {
			t.Errorf("after delete there is %s: %v", gone, value)
		}
	}
	if got := left["dns_policies"].([]any); len(got) != 0 {
		t.Errorf("after delete there are %v", got)
	}
}

func TestKeptFieldsOfAWrongTypeAreRefused(t *testing.T) {
	c := newHouse(t).login()
	for field, wrong := range map[string]any{"security_policy_ref": []any{"p"}, "dns_policies": "p",
		"jwt_config": true, "enable_session": 7} {
		body := onVip(c.vip(field), "v", nil)
		body[field] = wrong
		c.refused(http.StatusBadRequest, "virtualservice: "+field+": ", "POST", "/api/virtualservice", body)
	}
	c.refused(http.StatusBadRequest,
		"systemconfiguration: mgmt_ip_access_control.api_access: the API does not restrict", "PATCH",
		"/api/systemconfiguration",
		`{"replace":{"mgmt_ip_access_control":{"api_access":{"match_criteria":"IS_IN","addrs":[{"addr":"10.0.0.1","type":"V4"}]}}}}`)
}

func TestKeptReferencesToKindsThatAreThereMustBeRight(t *testing.T) {
	c := newHouse(t).login()
	profile := func(ref string) schema.Object {
		return schema.Object{"name": "a", "type": "APPLICATION_PROFILE_TYPE_HTTP",
			"http_profile": schema.Object{"pki_profile_ref": ref}}
	}
	c.refused(http.StatusBadRequest, "http_profile.pki_profile_ref: PKIProfile not found", "POST",
		"/api/applicationprofile",
		profile("/api/pkiprofile?name=ours"))
	pki := c.want(http.StatusCreated, "POST", "/api/pkiprofile",
		schema.Object{"name": "ours", "ca_certs": []any{schema.Object{"certificate": c.authority()}}})
	made := c.want(http.StatusCreated, "POST", "/api/applicationprofile", profile("/api/pkiprofile?name=ours"))
	if ref := made["http_profile"].(schema.Object)["pki_profile_ref"]; ref != "https://"+testHost+path(pki)+"#ours" {
		t.Errorf("refers to %v", ref)
	}
	if said := warningsIn(made); said != "" {
		t.Errorf("the reply warns of a reference that is served: %s", said)
	}
	c.refused(http.StatusPreconditionFailed, "ApplicationProfile a", "DELETE", path(pki), nil)
}

// authority returns the certificate of one of the built-in objects.
func (c *client) authority() any {
	c.h.t.Helper()
	list := c.want(http.StatusOK, "GET", "/api/sslkeyandcertificate?name=System-Default-Cert", nil)["results"].([]any)
	return list[0].(schema.Object)["certificate"].(schema.Object)["certificate"]
}

func TestUnknownFieldsAreDroppedAndTheReplySaysSo(t *testing.T) {
	c := newHouse(t).login()
	made := c.want(http.StatusCreated, "POST", "/api/pool",
		`{"name":"p","no_such_field":1,"servers":[{"ip":{"addr":"10.0.0.1","type":"V4"},"prt":81}]}`)
	if said := warningsIn(
		made); said != "no_such_field: is unknown: dropped\nservers[0].prt: is unknown; did you mean port?: dropped" {
		t.Errorf("the reply says\n%s", said)
	}
	changed := c.want(http.StatusOK, "PATCH", path(made), `{"add":{"colour":"red"},"ad":{"description":"d"}}`)
	if said := warningsIn(
		changed); said != "ad: is no part of a patch, which has add, replace, delete and json_patch: dropped\ncolour: is unknown: dropped" {
		t.Errorf("the reply says\n%s", said)
	}
	if read := c.want(http.StatusOK, "PUT", path(made), c.want(http.StatusOK, "GET", path(made), nil)); warningsIn(
		read) != "" {
		t.Errorf("of what was read it is said\n%s", warningsIn(read))
	}
}

func TestKeptSecretsAreNotReadBack(t *testing.T) {
	c := newHouse(t).login()
	body := onVip(c.vip("v"), "v", nil)
	body["oauth_vs_config"] = schema.Object{"cookie_name": "c",
		"key": []any{schema.Object{"name": "k", "aes_key": "TOP-SECRET"}}}
	made := c.want(http.StatusCreated, "POST", "/api/virtualservice", body)
	made = c.want(http.StatusOK, "PUT", path(made), made)
	for _, target := range []string{path(made), "/api/virtualservice?search=v"} {
		if answer := c.do("GET", target, nil); strings.Contains(answer.Body.String(), "TOP-SECRET") ||
			!strings.Contains(answer.Body.String(), "sensitive") {
			t.Errorf("%s: %s", target, answer.Body)
		}
	}
	if list := c.want(http.StatusOK, "GET", "/api/virtualservice?oauth_vs_config.key.aes_key=TOP-SECRET",
		nil); list["count"] != 0.0 {
		t.Error("a secret is found by guessing it")
	}
	if record, _ := c.h.store.View().Get("virtualservice", made["uuid"].(string)); !strings.Contains(
		fmt.Sprint(record.Object), "TOP-SECRET") {
		t.Error("the secret is gone")
	}
}

// aviTable reads ../schema/avi_fields.txt: the fields of each message, as "name type ->ref".
func aviTable(t *testing.T) map[string][][]string {
	t.Helper()
	text, err := os.ReadFile("../schema/avi_fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	table, message := map[string][][]string{}, ""
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			table[message] = append(table[message], strings.Fields(line))
		default:
			message = strings.TrimSpace(line)
		}
	}
	return table
}

// survey sends every field that Avi has, and counts those that come back.
type survey struct {
	*client
	table    map[string][][]string
	existing map[string]string // a reference to an object of each kind
	at       string            // path of the object
	body     schema.Object
	kept     int
	refused  int
}

// sample returns a value of a field's type. A message gets all of its fields.
func (s *survey) sample(field []string) any {
	typed, listed := strings.CutPrefix(field[1], "[")
	typed = strings.TrimSuffix(typed, "]")
	var value any = "sent"
	switch typed {
	case "boolean":
		value = true
	case "integer":
		value = 7.0
	case "number":
		value = 7.5
	case "string":
		for _, word := range field[2:] {
			if ref, ok := strings.CutPrefix(word, "->"); ok {
				value = "https://elsewhere/api/" + ref + "/?name=ours#ours"
				if there, ours := s.existing[ref]; ours {
					value = there
				}
			}
		}
	default:
		inner := schema.Object{}
		for _, field := range s.table[typed] {
			inner[field[0]] = s.sample(field)
		}
		value = inner
	}
	if listed {
		return []any{value}
	}
	return value
}

// saidByCertificate are fields that the controller computes, whatever the client sends.
var saidByCertificate = regexp.MustCompile(
	`^/api/sslkeyandcertificate/\S+ (certificate\..*|status|key_params\.algorithm|ocsp_error_status|ocsp_resp\S*)$|^/api/pkiprofile/\S+ crls\..*$`)

// try sends the smallest object with one more field, which put adds. If the object is refused, try sends each part of
// the field by itself.
func (s *survey) try(field []string, name string, put func(schema.Object)) {
	value := s.sample(field)
	put(schema.Object{field[0]: value})
	if answer := s.do("PUT", s.at, s.body); answer.Code == http.StatusOK {
		lost := lostOf(name, s.body, s.want(http.StatusOK, "GET", s.at, nil))
		if lost != "" && !saidByCertificate.MatchString(s.at+" "+name) {
			s.h.t.Errorf("%s: %s was answered 200 and is lost", s.at, lost)
		}
		s.kept++
		return
	} else if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), ": ") {
		s.h.t.Errorf("%s: %s: %d %s", s.at, name, answer.Code, answer.Body)
	}
	s.refused++
	_, listed := value.([]any)
	for _, inner := range s.table[strings.Trim(field[1], "[]")] {
		s.try(inner, name+"."+inner[0], func(part schema.Object) {
			if !listed {
				put(schema.Object{field[0]: part})
				return
			}
			put(schema.Object{field[0]: []any{part}})
		})
	}
}

// lostOf names what was sent and did not come back.
func lostOf(name string, sent, got any) string {
	switch s := sent.(type) {
	case schema.Object:
		g, _ := got.(schema.Object)
		for field, value := range s {
			if lost := lostOf(field, value, g[field]); lost != "" {
				return lost
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		if len(g) != len(s) {
			return name
		}
		for i := range s {
			if lost := lostOf(name, s[i], g[i]); lost != "" {
				return lost
			}
		}
		return ""
	case string:
		if strings.HasPrefix(s, "/api/") && strings.HasSuffix(fmt.Sprint(got), s) {
			return ""
		}
	}
	if got == schema.Sensitive || reflect.DeepEqual(sent, got) || fmt.Sprint(sent) == fmt.Sprint(got) {
		return ""
	}
	return fmt.Sprintf("%s (%v, read back %v)", name, sent, got)
}

// Each field of Avi's comes back as it was sent, or is refused by name. The controller never answers 200 and drops a
// field.
func TestNoFieldThatAviKnowsIsLost(t *testing.T) {
	h := newHouse(t)
	c := h.login()
	s := &survey{client: c, table: aviTable(t), existing: map[string]string{}}
	bodies := map[string]schema.Object{}
	all := slices.DeleteFunc(schema.Kinds(), func(kind *schema.Kind) bool {
		return kind.Name == "alertscriptconfig" // all of them are refused
	})
	for _, kind := range all {
		body := s.smallest(kind)
		bodies[kind.Name] = body
		s.existing[kind.Name] = s.make(kind, body)
	}
	for _, kind := range all {
		s.at = s.existing[kind.Name]
		for _, field := range s.table[kind.Title] {
			if strings.Contains(" uuid url _last_modified tenant_ref cloud_ref name ", " "+field[0]+" ") {
				continue // the identity of an object does not change
			}
			s.try(field, field[0], func(part schema.Object) {
				s.body = schema.Clone(bodies[kind.Name])
				lay(s.body, part)
			})
		}
	}
	t.Logf("%d kept, %d refused", s.kept, s.refused)
	if s.kept < 700 {
		t.Errorf("only %d fields were kept, %d refused", s.kept, s.refused)
	}
}

// lay sets fields of an object. It merges objects with the objects that are there.
func lay(object, over schema.Object) {
	for name, value := range over {
		inner, both := object[name].(schema.Object)
		if layer, ok := value.(schema.Object); ok && both {
			lay(inner, layer)
			continue
		}
		object[name] = value
	}
}

// ed25519Keys are those of RFC 8037 appendix A.2.
const ed25519Keys = `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`

// smallest returns the smallest valid object of a kind.
func (s *survey) smallest(kind *schema.Kind) schema.Object {
	body := schema.Object{"name": "least"}
	switch kind.Name {
	case "virtualservice":
		body := onVip("/api/vsvip/"+s.vip("least").(string), "least", nil)
		delete(body, "pool_ref")
		return body
	case "vrfcontext":
		body["bgp_profile"] = schema.Object{"local_as": 65000, "ibgp": false}
	case "vsvip":
		body["vip"] = []any{schema.Object{"vip_id": "1", "ip_address": schema.Object{"addr": "10.2.0.1", "type": "V4"}}}
	case "networkprofile":
		body["profile"] = schema.Object{"type": "PROTOCOL_TYPE_TCP_PROXY"}
	case "applicationprofile":
		body["type"] = "APPLICATION_PROFILE_TYPE_HTTP"
		body["http_profile"] = schema.Object{"compression_profile": schema.Object{"compression": false,
			"type":                          "AUTO_COMPRESSION",
			"remove_accept_encoding_header": true}}
	case "errorpagebody":
		body["error_page_body"] = "away"
	case "jwtserverprofile":
		body["jwks_keys"] = ed25519Keys
	case "authprofile":
		issuer := s.want(http.StatusCreated, "POST", "/api/jwtserverprofile",
			schema.Object{"name": "issuer", "jwks_keys": ed25519Keys})
		body["type"], body["jwt_profile_ref"] = "AUTH_PROFILE_JWT", "/api/jwtserverprofile/"+issuer["uuid"].(string)
	case "ssopolicy":
		body["type"] = "SSO_TYPE_JWT"
		body["authentication_policy"] = schema.Object{"default_auth_profile_ref": s.existing["authprofile"]}
	case "healthmonitor":
		body["type"] = "HEALTH_MONITOR_TCP"
	case "applicationpersistenceprofile":
		body["persistence_type"] = "PERSISTENCE_TYPE_CLIENT_IP_ADDRESS"
	case "pkiprofile":
		body["ca_certs"] = []any{schema.Object{"certificate": s.authority()}}
	case "sslkeyandcertificate":
		body["certificate"] = schema.Object{"certificate": s.authority()}
		body["type"] = "SSL_CERTIFICATE_TYPE_CA"
	case "alertconfig":
		body["source"] = "EVENT_LOGS"
		body["alert_rule"] = schema.Object{"sys_event_rule": []any{schema.Object{"event_id": "VS_DOWN"}}}
	case "alertemailconfig":
		body["to_emails"] = "a@example.com"
	case "webhook":
		body["callback_url"], body["verification_token"] = "https://pager.example.com", "0123456789abcdef"
	case "cloudconnectoruser":
		body["password"] = "a long password"
	case "user":
		body["username"], body["password"] = "least", "a long password"
	case "systemconfiguration":
		return schema.Object{}
	}
	return body
}

// make creates the object and returns its path.
func (s *survey) make(kind *schema.Kind, body schema.Object) string {
	switch {
	case kind.Only != "":
		return "/api/" + kind.Name + "/" + kind.Only
	case !kind.Creatable():
		object := schema.Object{"name": "least", "uuid": kind.Prefix + "-1", "tenant_ref": "/api/tenant/admin"}
		kind.Fill(object)
		s.h.must(s.h.store.Update(s.h.t.Context(), func(tx *store.Tx) error {
			for _, field := range []string{"cloud_ref", "se_group_ref"} {
				delete(object, field)
			}
			tx.Put(&store.Record{Kind: kind.Name, UUID: kind.Prefix + "-1", Tenant: "admin",
				Name: "least", Object: object})
			return nil
		}))
		return "/api/" + kind.Name + "/" + kind.Prefix + "-1"
	}
	made := s.want(http.StatusCreated, "POST", "/api/"+kind.Name, body)
	return "/api/" + kind.Name + "/" + made["uuid"].(string)
}
