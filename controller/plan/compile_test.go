package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/tickets"
)

var update = flag.Bool("update", false, "rewrite the Plans in testdata with what is compiled now")

const engineUUID = "se-edge"

// Each file has objects as an operator sends them, besides the built-in ones. The Plan and the findings follow.
func TestGoldenPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, _, _ := strings.Cut(string(want), "\n== plan ==\n")
			got := strings.TrimRight(objects, "\n") + "\n\n== plan ==\n" + render(compileText(t, objects))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s is compiled otherwise now:\n%s", file, got)
			}
		})
	}
}

// compilerOf returns a Compiler for a first revision.
func compilerOf(m *model.Model, rings tickets.Rings, assignments place.Assignments) *Compiler {
	c := &Compiler{}
	c.Turn(m, rings, assignments)
	return c
}

func compileText(t *testing.T, text string) (*enginev1.Plan, []model.Finding) {
	t.Helper()
	keeper := model.Keeper{
		Countries: model.Countries{"DE": rangesOf(2), "FR": rangesOf(1)},
		Places:    model.Places{"ATTRIBUTE_CONTINENT_CODE EU": {"DE", "FR"}, "ATTRIBUTE_COUNTRY_NAME FRANCE": {"FR"}},
	}
	m, findings := keeper.Keep(7, changesOf(objectsIn(t, text)))
	plan, found := compilerOf(m, nil, placed(m)).Compile(engineUUID, nil)
	return plan, append(findings, found...)
}

func TestEveryEngineOfAVirtualServiceIsGivenTheSameTicketKeysAndNoneWhereSessionsAreNotReused(t *testing.T) {
	text, err := os.ReadFile("testdata/secure_http.txt")
	if err != nil {
		t.Fatal(err)
	}
	objects, _, _ := strings.Cut(string(text), "\n== plan ==\n")
	m, _ := model.Build(7, objectsIn(t, objects))
	vs := m.VirtualServices[0]
	secret := func(b byte) []byte { return bytes.Repeat([]byte{b}, tickets.SecretBytes) }
	ring := tickets.Ring{Profile: vs.SSLProfile.UUID, Current: secret(1), Previous: secret(2), Next: secret(3),
		Lifetime: time.Hour, Turned: time.Unix(1_800_000_000, 0)}
	keysIn := func() *dataplanev1.TicketKeys {
		compiled, _ := compilerOf(m, tickets.Rings{&ring}, placed(m)).Compile(engineUUID, nil)
		for _, resource := range compiled.GetResources() {
			if resource.GetUuid() == vs.UUID {
				return resource.GetVirtualService().GetTls().GetTicketKeys()
			}
		}
		t.Fatal("the virtual service is not in the Plan")
		return nil
	}
	keys := keysIn()
	if len(keys.GetKeys()) != 3 || keys.GetLifetimeS() != 3600 || keys.GetUntilUnixS() != 1_800_007_200 ||
		!proto.Equal(keys, keysIn()) {
		t.Errorf("got %d keys for %d s until %d", len(keys.GetKeys()), keys.GetLifetimeS(), keys.GetUntilUnixS())
	}
	if keys.GetKeepOrigin() {
		t.Error("they say where sessions began, and no pool wants to know that")
	}
	vs.Pool.Persistence = &kinds.ApplicationPersistenceProfile{Type: "PERSISTENCE_TYPE_TLS"}
	if !keysIn().GetKeepOrigin() {
		t.Error("they do not say where sessions began")
	}
	vs.SSLProfile.EnableSSLSessionReuse = false
	if keys := keysIn(); keys != nil {
		t.Error("has keys that nobody needs")
	}
}

// placed puts every virtual service on the engines of its group. All engines are up.
func placed(m *model.Model) place.Assignments {
	up := map[string]place.Engine{}
	for _, engine := range m.Engines {
		up[engine.UUID] = place.Engine{Up: true, NextHop: netip.MustParseAddr("10.1.0.11")}
	}
	return place.Assignments(nil).With(place.Decide(place.Input{Model: m, Engines: up}).Changed)
}

var header = regexp.MustCompile(`(?m)^(\w+) \{`)

// objectsIn reads paragraphs of the form "kind {json}", and adds the built-in objects and one engine.
func objectsIn(t *testing.T, text string) map[string][]schema.Object {
	t.Helper()
	objects, uuids := builtins(t)
	text += "\nserviceengine {\"name\": \"edge\"}\n"
	for _, at := range header.FindAllStringSubmatchIndex(text, -1) {
		kind, ok := schema.Lookup(text[at[2]:at[3]])
		if !ok {
			t.Fatalf("no kind %s", text[at[2]:at[3]])
		}
		var body json.RawMessage
		if err := json.NewDecoder(strings.NewReader(text[at[3]+1:])).Decode(&body); err != nil {
			t.Fatal(err)
		}
		object, err := kind.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		kind.Fill(object)
		object["uuid"] = fmt.Sprintf("%s-%s", kind.Prefix, object["name"])
		objects[kind.Name] = replaceNamed(objects[kind.Name], object)
		uuids[kind.Name+"/"+object["name"].(string)] = object["uuid"].(string)
		for _, reference := range kind.References(object) {
			target, err := schema.ParseRef(reference.Kind, reference.Value)
			if err != nil {
				t.Fatal(err)
			}
			if uuid, ok := uuids[target.Kind+"/"+target.Name]; ok {
				reference.Set(schema.RefPath(target.Kind, uuid))
			}
		}
		if err := kind.Check(object); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// replaceNamed lets a test replace a built-in object.
func replaceNamed(list []schema.Object, object schema.Object) []schema.Object {
	for i := range list {
		if list[i]["name"] == object["name"] {
			object["uuid"] = list[i]["uuid"]
			list[i] = object
			return list
		}
	}
	return append(list, object)
}

// builtins returns the built-in objects. Their certificates are from the testdata of schema.
func builtins(t *testing.T) (objects map[string][]schema.Object, uuids map[string]string) {
	t.Helper()
	objects, uuids = map[string][]schema.Object{}, map[string]string{}
	for _, builtin := range schema.Builtins() {
		name, _ := builtin.Object["name"].(string)
		uuids[builtin.Kind.Name+"/"+name] = builtin.UUID
		if builtin.Kind.Name == "sslkeyandcertificate" {
			pair := "rsa"
			if strings.Contains(name, "EC") {
				pair = "ec"
			}
			kinds.SetKeyPair(builtin.Object, readFile(t, pair+".pem"), readFile(t, pair+".key"))
		}
		objects[builtin.Kind.Name] = append(objects[builtin.Kind.Name], builtin.Object)
	}
	return objects, uuids
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../schema/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// prototext varies its white space on purpose.
var spaces = regexp.MustCompile(`(?m)^(\s*\w+:) +`)

func render(plan *enginev1.Plan, findings []model.Finding) string {
	plan = proto.Clone(plan).(*enginev1.Plan)
	for _, resource := range plan.GetResources() {
		if certificate := resource.GetCertificate(); certificate != nil {
			for i, der := range certificate.GetChainDer() {
				certificate.ChainDer[i] = fmt.Appendf(nil, "%d bytes", len(der))
			}
			certificate.KeyPkcs8Der = fmt.Appendf(nil, "%d bytes", len(certificate.GetKeyPkcs8Der()))
		}
		for i, der := range resource.GetPkiProfile().GetCaCertsDer() {
			resource.GetPkiProfile().CaCertsDer[i] = fmt.Appendf(nil, "%d bytes", len(der))
		}
	}
	var out bytes.Buffer
	out.WriteString(spaces.ReplaceAllString(prototext.MarshalOptions{Multiline: true}.Format(plan), "$1 "))
	out.WriteString("\n== findings ==\n")
	for _, finding := range findings {
		fmt.Fprintf(&out, "%s %s: %s: %s\n", finding.Kind, finding.Name, finding.Field, finding.Message)
	}
	return out.String()
}

func TestPlanIsTheSameHoweverOftenItIsCompiled(t *testing.T) {
	text := readGolden(t, "secure_http")
	first, _ := compileText(t, text)
	for range 20 {
		if again, _ := compileText(t, text); !proto.Equal(first, again) {
			t.Fatalf("first %v, then %v", first, again)
		}
	}
}

func TestEngineOfAnotherGroupGetsAnEmptyPlan(t *testing.T) {
	m, _ := model.Build(7, objectsIn(t, readGolden(t, "secure_http")))
	plan, findings := compilerOf(m, nil, placed(m)).Compile("se-elsewhere", nil)
	if len(plan.GetResources()) != 0 || findings != nil || plan.GetRevision() != 7 {
		t.Errorf("got %v, %v", plan, findings)
	}
}

func TestVirtualServiceWhoseGroupCannotBeReadIsStillAdvertised(t *testing.T) {
	m, _ := model.Build(7, objectsIn(t, readGolden(t, "routes_over_bgp")))
	seats := placed(m)
	for _, vs := range m.VirtualServices {
		vs.Group = nil
	}
	plan, _ := compilerOf(m, nil, seats).Compile(engineUUID, nil)
	routes := slices.IndexFunc(plan.GetResources(), func(r *enginev1.Resource) bool {
		return r.GetAdvertisement() != nil
	})
	if routes < 0 || len(plan.GetResources()[routes].GetAdvertisement().GetNextHops()) != 1 {
		t.Errorf("got %v", plan)
	}
}

func TestVirtualServiceThatIsServedKeepsItsPort(t *testing.T) {
	const newcomer = `virtualservice {
		"name": "a-newcomer", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}]
}
`
	incumbent := strings.Replace(newcomer, "a-newcomer", "b-incumbent", 1)
	before, _ := compileText(t, incumbent)
	m, _ := model.Build(8, objectsIn(t, newcomer+incumbent))
	plan, findings := compilerOf(m, nil, placed(m)).Compile(engineUUID, before)
	if len(plan.GetResources()) != 1 || plan.GetResources()[0].GetVirtualService().GetName() != "b-incumbent" {
		t.Errorf("got %v", plan)
	}
	if len(findings) != 1 || findings[0].Name != "a-newcomer" || !strings.Contains(findings[0].Message, "b-incumbent") {
		t.Errorf("got %v", findings)
	}
}

func TestSameAddressInTwoRoutingContextsNeedsTwoEngines(t *testing.T) {
	in := func(name, vrf string) string {
		return `virtualservice {"name": "` + name +
			`", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
  "vrf_context_ref": "/api/vrfcontext/vrfcontext-` + vrf + `"}
`
	}
	_, findings := compileText(t, `vrfcontext {"name": "blue"}
vrfcontext {"name": "green"}
`+in("a-first", "blue")+in("b-second", "green"))
	if len(findings) != 1 || findings[0].Name != "b-second" || findings[0].Field != "services[0].port" ||
		!strings.Contains(findings[0].Message, "by virtual service a-first already, in another vrfcontext") {
		t.Errorf("got %v", findings)
	}
}

func readGolden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	objects, _, _ := strings.Cut(string(text), "\n== plan ==\n")
	return objects
}

func TestEngineThatHasStoppedForAnotherOneHasNothingOfTheVirtualService(t *testing.T) {
	m, _ := model.Build(7, objectsIn(t, `
pool {"name": "p"}
virtualservice {"name": "v", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],`+
		` "pool_ref": "/api/pool?name=p"}
`))
	for state, want := range map[place.SeatState]bool{place.Draining: true, place.Standby: true, place.Stopped: false} {
		assignments := place.Assignments(nil).With([]place.Assignment{{VirtualService: m.VirtualServices[0].UUID,
			Seats: []place.Seat{{Engine: engineUUID, State: state}}}})
		compiled, _ := compilerOf(m, nil, assignments).Compile(engineUUID, nil)
		has := slices.ContainsFunc(compiled.GetResources(), func(resource *enginev1.Resource) bool {
			return resource.GetVirtualService() != nil
		})
		if has != want {
			t.Errorf("%s: it has the virtual service: %t", state, has)
		}
	}
}
