package plan

import (
	"crypto/hmac"
	hash "crypto/sha256"
	"encoding/hex"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

const (
	// tokenBytes of a server's name in a cookie: with 16,384 servers two are the same once in 10^30 pools.
	tokenBytes      = 16
	cookieNameBytes = 4 // of the default name, in hex
	cookiePrefix    = "weir-"
)

// persist has clients come back to the server that their cookie names. The names of servers in cookies follow from a key
// and the server alone: all engines agree on them, and clients learn no addresses.
func persist(from *model.Pool, into *dataplanev1.Pool, report *report) {
	profile := from.Persistence
	if profile == nil {
		return
	}
	subject := about("applicationpersistenceprofile", profile.Identity, profile.Named)
	if profile.Type != "PERSISTENCE_TYPE_HTTP_COOKIE" || profile.HTTPCookie == nil {
		report.warn(subject, "persistence_type", "engines cannot keep clients by %s yet: has no effect; for addresses, pools may have LB_ALGORITHM_CONSISTENT_HASH", profile.Type)
		return
	}
	warnUnheeded(subject, "", unheededOfPersistence, profile, report)
	cookie := profile.HTTPCookie
	key := persistenceKey(from, cookie)
	into.Persistence = &dataplanev1.CookiePersistence{
		CookieName: cookie.CookieName, Always: cookie.AlwaysSendCookie, HttpOnly: cookie.HTTPOnly,
	}
	if cookie.CookieName == "" {
		into.Persistence.CookieName = cookiePrefix + nameInCookie(key, from.UUID)[:2*cookieNameBytes]
	}
	if cookie.IsPersistentCookie {
		into.Persistence.MaxAgeS = cookie.TimeoutMin * 60
	}
	for _, server := range into.GetServers() {
		server.Token = nameInCookie(key, server.GetId())
	}
}

var unheededOfPersistence = []unheeded[schema.ApplicationPersistenceProfile]{
	{"server_hm_down_recovery", func(p *schema.ApplicationPersistenceProfile) bool {
		return p.ServerHMDownRecovery != "HM_DOWN_PICK_NEW_SERVER"
	}, "clients of a server that is down get another one"},
	{"http_cookie_persistence_profile.timeout", func(p *schema.ApplicationPersistenceProfile) bool {
		return p.HTTPCookie.TimeoutMin > 0 && !p.HTTPCookie.IsPersistentCookie
	}, "is for cookies with is_persistent_cookie: has no effect"},
}

// persistenceKey is the operator's, whose cookies are good in every pool with the same servers and key; else one of this
// pool's, whose uuid clients do not know.
func persistenceKey(from *model.Pool, cookie *schema.HTTPCookiePersistence) []byte {
	for _, key := range cookie.EncryptionKeys {
		if key.AES != "" {
			return []byte(key.AES)
		}
	}
	return []byte(from.UUID)
}

func nameInCookie(key []byte, name string) string {
	sum := hmac.New(hash.New, key)
	sum.Write([]byte(name))
	return hex.EncodeToString(sum.Sum(nil)[:tokenBytes])
}
