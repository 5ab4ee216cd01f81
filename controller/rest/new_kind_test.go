package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Rulebook is a kind that nothing but this file knows. All that the tests below see of it follows from here.
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

// What Avi would have of it. The struct has not all of this.
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
		Private:  true,
		Builtins: []schema.Object{{"name": "System-Rulebook", "medium": "MEDIUM_STONE"}},
		Kept:     []schema.Rule{schema.NoEffect("books are bound elsewhere", "binding"), schema.Refuses("every reader is let in", "access_policy.readers")},
	})
}

func TestAKindThatIsOneFileIsCreatedListedChangedAndDeleted(t *testing.T) {
	c := newHouse(t).login()
	pool := c.pool("web")
	book := c.want(http.StatusCreated, "POST", "/api/rulebook", schema.Object{"name": "house", "passphrase": "p",
		"pool_refs": []any{"/api/pool?name=web"}, "chapters": []any{schema.Object{"title": "doors"}}})
	if id, _ := book["uuid"].(string); !strings.HasPrefix(id, "rulebook-") || book["edition"] != 1.0 || book["medium"] != "MEDIUM_PAPER" ||
		book["passphrase"] != schema.Sensitive || book["tenant_ref"] != "https://"+testHost+"/api/tenant/admin#admin" {
		t.Errorf("created %v", book)
	}
	c.refused(http.StatusBadRequest, "rulebook: edition: 10 is out of range; give 1 to 9", "POST", "/api/rulebook", schema.Object{"name": "x", "edition": 10})
	c.refused(http.StatusBadRequest, "rulebook: chapters[0].title: is required", "POST", "/api/rulebook", schema.Object{"name": "x", "chapters": []any{schema.Object{}}})
	c.refused(http.StatusBadRequest, "rulebook: pool_refs[0]: Pool not found", "POST", "/api/rulebook", schema.Object{"name": "x", "pool_refs": []any{"pool-none"}})
	c.refused(http.StatusBadRequest, "MEDIUM_PAPER, MEDIUM_STONE", "POST", "/api/rulebook", schema.Object{"name": "x", "medium": "MEDIUM_AIR"})
	c.refused(http.StatusConflict, "Rulebook with this Name already exists", "POST", "/api/rulebook", schema.Object{"name": "house"})

	c.refused(http.StatusBadRequest, "rulebook: access_policy.readers: every reader is let in: remove it", "POST", "/api/rulebook",
		schema.Object{"name": "x", "access_policy": schema.Object{"readers": []any{"/api/user/user-1"}}})
	sewn := c.want(http.StatusCreated, "POST", "/api/rulebook", schema.Object{"name": "sewn", "binding": "sewn", "access_policy": schema.Object{"reader_pin": "1"}})
	if warned, pin := fmt.Sprint(sewn["weir_warnings"]), sewn["access_policy"].(schema.Object)["reader_pin"]; pin != schema.Sensitive ||
		!strings.Contains(warned, "books are bound elsewhere: has no effect") {
		t.Errorf("created %v", sewn)
	}
	c.want(http.StatusNoContent, "DELETE", path(sewn), nil)

	for query, want := range map[string]string{"": "System-Rulebook,house", "search=doors": "house", "passphrase=p": "", "medium=MEDIUM_STONE": "System-Rulebook",
		"refers_to=pool:" + pool["uuid"].(string): "house"} {
		if got := names(c.want(http.StatusOK, "GET", "/api/rulebook?"+query, nil)); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}

	c.want(http.StatusOK, "PATCH", path(book), schema.Object{"replace": schema.Object{"edition": 2}, "add": schema.Object{"chapters": []any{schema.Object{"title": "walls"}}}})
	c.refused(http.StatusBadRequest, "rulebook: edition: is for ever 1 of MEDIUM_STONE", "PATCH", path(book), schema.Object{"replace": schema.Object{"medium": "MEDIUM_STONE"}})
	c.refused(http.StatusPreconditionFailed, "Rulebook house", "DELETE", path(pool), nil)
	c.refused(http.StatusNotFound, "", "GET", path(book)+"/runtime", nil)

	c.want(http.StatusNoContent, "DELETE", path(book), nil)
	c.want(http.StatusNoContent, "DELETE", path(pool), nil)
	c.refused(http.StatusNotFound, "Rulebook object not found!", "GET", path(book), nil)
	builtin := "/api/rulebook/" + schema.BuiltinUUID("rulebook", "System-Rulebook")
	c.refused(http.StatusBadRequest, "is a system default object", "DELETE", builtin, nil)

	c.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "other"})
	c.header.Set("X-Avi-Tenant", "other")
	c.refused(http.StatusNotFound, "Rulebook object not found!", "GET", builtin, nil)
}
