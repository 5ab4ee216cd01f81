package kinds

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestBuiltinsAreWhatClientsExpect(t *testing.T) {
	var got []string
	for _, b := range schema.Builtins() {
		name, _ := b.Object["name"].(string)
		got = append(got, b.Kind.Name+" "+name)
	}
	want := strings.Split(strings.TrimSpace(file(t, "builtins.txt")), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestBuiltinsPassTheirOwnChecksAndReferToOneAnother(t *testing.T) {
	there := map[string]bool{}
	for _, b := range schema.Builtins() {
		there[schema.RefPath(b.Kind.Name, b.UUID)] = true
	}
	for _, b := range schema.Builtins() {
		if err := b.Kind.Check(b.Object); err != nil {
			t.Error(err)
		}
		again, err := b.Kind.Normalise(b.Object)
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind.Fill(again); !reflect.DeepEqual(again, b.Object) {
			t.Errorf("%s: sent back, it became %v", b.UUID, again)
		}
		for _, reference := range b.Kind.References(b.Object) {
			if !there[reference.Value] {
				t.Errorf("%s: %s is %s, which is not built in", b.UUID, reference.Field, reference.Value)
			}
		}
	}
}

func TestBuiltinsReferOnlyToThoseBefore(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range schema.Builtins() {
		for _, reference := range b.Kind.References(b.Object) {
			if !seen[reference.Value] {
				t.Errorf("%s comes before %s", b.UUID, reference.Value)
			}
		}
		seen[schema.RefPath(b.Kind.Name, b.UUID)] = true
	}
}

func TestBuiltinUUIDsNeverChange(t *testing.T) {
	for _, c := range [][3]string{
		{"tenant", "admin", "admin"}, {"user", "admin", "user-1"}, {"systemconfiguration", "", "default"},
		{"cloud", "Default-Cloud", "cloud-609db267-f158-5f66-a0ab-513c9ff76380"},
	} {
		if got := schema.BuiltinUUID(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: got %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestBuiltinCertificatesAreOrders(t *testing.T) {
	algorithms := map[string]int{}
	for _, b := range schema.Builtins() {
		if b.Kind.Name != "sslkeyandcertificate" {
			continue
		}
		c, err := schema.Into[SSLKeyAndCertificate](b.Object)
		if err != nil || !c.Ordered() || c.KeyParams == nil {
			t.Fatalf("%s: %+v, %v", b.UUID, c, err)
		}
		algorithms[c.KeyParams.Algorithm]++
	}
	if algorithms["SSL_KEY_ALGORITHM_RSA"] != 3 || algorithms["SSL_KEY_ALGORITHM_EC"] != 2 {
		t.Errorf("got %v", algorithms)
	}
}

func TestKnowsWhatIsBuiltIn(t *testing.T) {
	for _, b := range schema.Builtins() {
		want, _ := b.Object["name"].(string)
		if name, builtIn := schema.BuiltinName(b.Kind.Name, b.UUID); !builtIn || name != want {
			t.Errorf("%s %s is %q, built in: %v", b.Kind.Name, want, name, builtIn)
		}
	}
	for _, uuid := range []string{"", "System-Standard", "sslprofile-1"} {
		if _, builtIn := schema.BuiltinName("sslprofile", uuid); builtIn {
			t.Errorf("%q is built in", uuid)
		}
	}
}
