package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Rulebook is a kind that only this file mentions. The tests below show that nothing else is needed.
type Rulebook struct {
	kinds.Identity
	kinds.Named
	kinds.Owned
	Edition    uint32    `json:"edition" min:"1" max:"9" default:"1"`
	Medium     string    `json:"medium" enum:"RulebookMedium" default:"MEDIUM_PAPER"`
	Passphrase string    `json:"passphrase" secret:"true"`
	PoolRefs   []string  `json:"pool_refs" ref:"pool"`
	Chapters   []Chapter `json:"chapters" items:"3"`
}

type Chapter struct {
	Title string `json:"title" required:"true"`
}

func (r *Rulebook) Validate() *schema.FieldError {
	if r.Medium == "MEDIUM_STONE" && r.Edition > 1 {
		return &schema.FieldError{Field: "edition", Problem: "is for ever 1 of MEDIUM_STONE"}
	}
	return nil
}

// The fields that Avi would have. The struct lacks some of them.
var _ = schema.AviFields(`
Rulebook
 _last_modified string
 access_policy RulebookAccess
 binding string ="glued"
 edition integer =1
 name string
 tenant_ref string ->tenant
 url string
 uuid string
RulebookAccess
 reader_pin string secret
 readers [string] ->user
`)

var _ = schema.Enum("RulebookMedium", "MEDIUM_PAPER", "MEDIUM_STONE")

func init() {
	schema.Register[Rulebook](schema.Definition{
		Private:    true,
		Permission: "PERMISSION_STRINGGROUP",
		Builtins:   []schema.Object{{"name": "System-Rulebook", "medium": "MEDIUM_STONE"}},
		Kept: []schema.Rule{
			schema.NoEffect("books are bound elsewhere", "binding"),
			schema.Refuses("every reader is let in", "access_policy.readers"),
		},
	})
}

type sent = schema.Object

func listOf(items ...any) []any { return items }

func TestAKindThatIsOneFileIsCreatedListedChangedAndDeleted(t *testing.T) {
	c := newHouse(t).login()
	pool := c.pool("web")
	book := c.want(http.StatusCreated, "POST", "/api/rulebook", sent{"name": "house", "passphrase": "p",
		"pool_refs": listOf("/api/pool?name=web"), "chapters": listOf(sent{"title": "doors"})})
	for field, want := range map[string]any{"edition": 1.0, "medium": "MEDIUM_PAPER", "passphrase": schema.Sensitive,
		"tenant_ref": "https://" + testHost + "/api/tenant/admin#admin"} {
		if book[field] != want {
			t.Errorf("%s is %v, want %v", field, book[field], want)
		}
	}

	for query, want := range map[string]string{"": "System-Rulebook,house", "search=doors": "house", "passphrase=p": "",
		"medium=MEDIUM_STONE": "System-Rulebook", "refers_to=pool:" + pool["uuid"].(string): "house"} {
		if got := names(c.want(http.StatusOK, "GET", "/api/rulebook?"+query, nil)); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}

	changed := c.want(http.StatusOK, "PATCH", path(book), sent{"replace": sent{"edition": 2},
		"add": sent{"chapters": listOf(sent{"title": "walls"})}})
	if changed["edition"] != 2.0 || len(changed["chapters"].([]any)) != 2 {
		t.Errorf("changed to %v", changed)
	}
	c.refused(http.StatusPreconditionFailed, "Rulebook house", "DELETE", path(pool), nil)
	c.refused(http.StatusNotFound, "", "GET", path(book)+"/runtime", nil)

	c.want(http.StatusNoContent, "DELETE", path(book), nil)
	c.want(http.StatusNoContent, "DELETE", path(pool), nil)
	c.refused(http.StatusNotFound, "Rulebook object not found!", "GET", path(book), nil)
}

func TestAKindThatIsOneFileRefusesWhatItsTagsAndRulesRefuse(t *testing.T) {
	c := newHouse(t).login()
	for _, refusal := range []struct {
		want string
		body sent
	}{
		{"edition: 10 is out of range; give 1 to 9", sent{"edition": 10}},
		{"chapters[0].title: is required", sent{"chapters": listOf(sent{})}},
		{"pool_refs[0]: Pool not found", sent{"pool_refs": listOf("pool-none")}},
		{`medium: "MEDIUM_AIR" is unknown; give one of MEDIUM_PAPER, MEDIUM_STONE`, sent{"medium": "MEDIUM_AIR"}},
		{"edition: is for ever 1 of MEDIUM_STONE", sent{"medium": "MEDIUM_STONE", "edition": 2}},
		{"access_policy.readers: every reader is let in: remove it",
			sent{"access_policy": sent{"readers": listOf("/api/user/user-1")}}},
	} {
		refusal.body["name"] = "x"
		c.refused(http.StatusBadRequest, "rulebook: "+refusal.want, "POST", "/api/rulebook", refusal.body)
	}
}

func TestAKindThatIsOneFileKeepsWhatAviHasBeside(t *testing.T) {
	c := newHouse(t).login()
	sewn := c.want(http.StatusCreated, "POST", "/api/rulebook", sent{"name": "sewn", "binding": "sewn",
		"access_policy": sent{"reader_pin": "1"}})
	if sewn["binding"] != "sewn" || sewn["access_policy"].(sent)["reader_pin"] != schema.Sensitive {
		t.Errorf("created %v", sewn)
	}
	if warned := fmt.Sprint(sewn["weir_warnings"]); !strings.Contains(warned,
		"books are bound elsewhere: has no effect") {
		t.Errorf("warned %s", warned)
	}
}

func TestAKindThatIsOneFileHasItsBuiltInObjectsAndItsTenants(t *testing.T) {
	c := newHouse(t).login()
	builtin := "/api/rulebook/" + schema.BuiltinUUID("rulebook", "System-Rulebook")
	if book := c.want(http.StatusOK, "GET", builtin, nil); book["medium"] != "MEDIUM_STONE" {
		t.Errorf("got %v", book)
	}
	c.refused(http.StatusBadRequest, "is a system default object", "DELETE", builtin, nil)
	c.want(http.StatusCreated, "POST", "/api/tenant", sent{"name": "other"})
	c.header.Set("X-Avi-Tenant", "other")
	c.refused(http.StatusNotFound, "Rulebook object not found!", "GET", builtin, nil)
}
