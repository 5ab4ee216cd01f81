package plan

import (
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Under another name, engines would find none of the cookies that clients have, and each client would lose its server.
func TestCookieKeepsItsDerivedNameWhileKeysAreTurned(t *testing.T) {
	old, young := kinds.PersistenceKey{Name: "old", AES: "a"}, kinds.PersistenceKey{Name: "young", AES: "b"}
	names := map[string]bool{}
	for _, step := range []kinds.HTTPCookiePersistence{
		{},
		{Keys: []kinds.PersistenceKey{old}},
		{Keys: []kinds.PersistenceKey{old, young}},
		{Keys: []kinds.PersistenceKey{old, young}, EncryptionKey: "young"},
		{Keys: []kinds.PersistenceKey{young}, EncryptionKey: "young"},
	} {
		pool := &model.Pool{Persistence: &kinds.ApplicationPersistenceProfile{HTTPCookie: &step}}
		pool.UUID = "pool-1"
		into := &dataplanev1.Pool{}
		persistByCookie(pool, into)
		names[into.GetPersistence().GetCookieName()] = true
	}
	if len(names) != 1 {
		t.Errorf("the cookie is called %v", names)
	}
}
