package plan

import (
	"crypto/hmac"
	hash "crypto/sha256"
	"encoding/hex"
	"fmt"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	// tokenBytes is the length of a server's name in a cookie. With 16,384 servers, two names are equal in one of 10^30
	// pools.
	tokenBytes      = 16
	cookieNameBytes = 4 // of the default name, in hex
	cookiePrefix    = "weir-"
	// defaultIPTimeoutMin is Avi's default for a table that engines do not need.
	defaultIPTimeoutMin = 5
)

// keptByAddress tells whether the address of a client decides which server of a pool it returns to.
func keptByAddress(pool *model.Pool) bool {
	profile := pool.Persistence
	return profile != nil && (profile.Type == "PERSISTENCE_TYPE_CLIENT_IP_ADDRESS" ||
		profile.Type == "PERSISTENCE_TYPE_CLIENT_IPV6_ADDRESS")
}

// persist makes clients return to the server that served them before, on every engine. Engines store and exchange
// nothing for that.
func persist(from *model.Pool, into *dataplanev1.Pool, report *report) {
	profile := from.Persistence
	if profile == nil {
		return
	}
	subject := about("applicationpersistenceprofile", profile.Identity, profile.Named)
	switch {
	case keptByAddress(from):
		warnUnheeded(subject, unheededOfPersistence, profile, report)
		warnUnheeded(subject, unheededByAddress, profile, report)
		into.HashedBits = addressBits(from)
		into.Algorithm = dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH
		into.HashInput = dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS
		into.HashAddresses = from.IgnoreServerPort
	case profile.Type == "PERSISTENCE_TYPE_HTTP_COOKIE" && profile.HTTPCookie != nil:
		warnUnheeded(subject, unheededOfPersistence, profile, report)
		persistByCookie(from, into)
		bind(from, into)
	case profile.Type == "PERSISTENCE_TYPE_CUSTOM_HTTP_HEADER" && profile.Header != nil:
		persistByHeader(from, into, report)
		bind(from, into)
	default:
		report.warn(subject, "persistence_type",
			"engines cannot keep clients by %s yet: has no effect; they can by "+
				"cookie, by header field and by the client's address",
			profile.Type)
	}
}

// persistByCookie names servers in cookies. A name depends only on a key and the server: all engines agree on it, and
// clients learn no addresses.
func persistByCookie(from *model.Pool, into *dataplanev1.Pool) {
	cookie := from.Persistence.HTTPCookie
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
		for _, other := range otherKeys(cookie) {
			server.OtherTokens = append(server.OtherTokens, nameInCookie(other, server.GetId()))
		}
	}
}

// persistByHeader names servers by what operators gave them for a header field.
func persistByHeader(from *model.Pool, into *dataplanev1.Pool, report *report) {
	into.PersistenceHeader = from.Persistence.Header.Name
	taken := map[string]string{}
	for i, member := range from.Members {
		value := member.PersistenceHeader
		if value == "" {
			continue
		}
		if earlier := taken[value]; earlier != "" {
			report.warn(about("pool", from.Identity, from.Named), fmt.Sprintf("servers[%d].prst_hdr_val", i),
				"is that of %s, too, which gets these requests: has no effect", earlier)
			continue
		}
		taken[value] = member.ID
		into.Servers[i].HeaderValue = value
	}
}

var whenDown = map[string]dataplanev1.WhenServerDown{
	"HM_DOWN_ABORT_CONNECTION":           dataplanev1.WhenServerDown_WHEN_SERVER_DOWN_ABORT,
	"HM_DOWN_CONTINUE_PERSISTENT_SERVER": dataplanev1.WhenServerDown_WHEN_SERVER_DOWN_CONTINUE,
}

// bind says what becomes of requests whose server takes none.
func bind(from *model.Pool, into *dataplanev1.Pool) {
	into.WhenDown = whenDown[from.Persistence.ServerHMDownRecovery]
	into.KeepsDisabled = from.ServerDisableType == keepsPersistent && from.Enabled
}

const keepsPersistent = "ALLOW_NEW_CONNECTION_IF_PERSISTENCE_PRESENT"

// bindsClients tells whether requests name the servers of a pool.
func bindsClients(pool *model.Pool) bool {
	profile := pool.Persistence
	return profile != nil && (profile.Type == "PERSISTENCE_TYPE_HTTP_COOKIE" ||
		profile.Type == "PERSISTENCE_TYPE_CUSTOM_HTTP_HEADER")
}

// addressBits says how much of an address counts; nil: all of it.
func addressBits(pool *model.Pool) *uint32 {
	if profile := pool.Persistence; profile != nil && profile.ClientIP != nil && profile.ClientIP.MaskBits < 128 {
		return &profile.ClientIP.MaskBits
	}
	return nil
}

var unheededOfPersistence = declare("applicationpersistenceprofile", "",
	[]unheeded[kinds.ApplicationPersistenceProfile]{
		{"http_cookie_persistence_profile.timeout", func(p *kinds.ApplicationPersistenceProfile) bool {
			return p.HTTPCookie != nil && p.HTTPCookie.TimeoutMin > 0 && !p.HTTPCookie.IsPersistentCookie
		}, "is for cookies with is_persistent_cookie: has no effect"},
		{"ip_persistence_profile.ip_persistent_timeout", func(p *kinds.ApplicationPersistenceProfile) bool {
			return p.ClientIP != nil && p.ClientIP.TimeoutMin != defaultIPTimeoutMin
		}, "clients keep their server however long they are away: has no effect"},
	})

var unheededByAddress = declare("applicationpersistenceprofile", "", []unheeded[kinds.ApplicationPersistenceProfile]{
	{"server_hm_down_recovery", func(p *kinds.ApplicationPersistenceProfile) bool {
		return p.ServerHMDownRecovery != "HM_DOWN_PICK_NEW_SERVER"
	}, "by address, clients of a server that is down get another one: has no effect"},
})

// otherKeys are those whose cookies are read, besides the first one.
func otherKeys(cookie *kinds.HTTPCookiePersistence) [][]byte {
	var keys [][]byte
	for _, key := range cookie.Keys {
		if key.AES != "" {
			keys = append(keys, []byte(key.AES))
		}
	}
	return keys[min(1, len(keys)):]
}

// persistenceKey returns the operator's key. With it, a cookie is valid in every pool that has the same servers and
// key. Without one, the key is the uuid of the pool, which clients do not know.
func persistenceKey(from *model.Pool, cookie *kinds.HTTPCookiePersistence) []byte {
	for _, key := range cookie.Keys {
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
