package plan

import (
	"crypto/hmac"
	hash "crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

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
	// defaultAppTimeoutMin is the same for cookies of servers.
	defaultAppTimeoutMin = 20
)

// keptByAddress tells whether an address decides which server of a pool a client returns to: its own, or the one that
// its session of TLS began with.
func keptByAddress(pool *model.Pool) bool {
	profile := pool.Persistence
	return profile != nil && (profile.Type == "PERSISTENCE_TYPE_CLIENT_IP_ADDRESS" ||
		profile.Type == "PERSISTENCE_TYPE_CLIENT_IPV6_ADDRESS" || keptByTLS(pool))
}

func keptByTLS(pool *model.Pool) bool {
	return pool.Persistence != nil && pool.Persistence.Type == typeTLS
}

const (
	typeTLS       = "PERSISTENCE_TYPE_TLS"
	typeAppCookie = "PERSISTENCE_TYPE_APP_COOKIE"
)

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
		bind(from, into)
		if into.GetKeepsDisabled() {
			report.warn(about("pool", from.Identity, from.Named), "server_disable_type",
				"by address, a disabled server keeps all clients whose addresses lead to it, also those who never came before")
		}
		into.HashedBits = addressBits(from)
		into.WaitsForHashed = from.RequestQueueEnabled
		into.Algorithm = dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH
		into.HashInput = dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS
		into.HashesTlsSession = keptByTLS(from)
		into.HashAddresses = from.IgnoreServerPort
	case profile.Type == "PERSISTENCE_TYPE_HTTP_COOKIE" && profile.HTTPCookie != nil:
		warnUnheeded(subject, unheededOfPersistence, profile, report)
		persistByCookie(from, into)
		bind(from, into)
	case ownCookie(from) != "":
		warnUnheeded(subject, unheededOfPersistence, profile, report)
		persistByOwnCookie(from, into)
		bind(from, into)
	case profile.Type == typeAppCookie:
		report.warn(subject, "app_cookie_persistence_profile.prst_hdr_name",
			"is not there, or is no name of a cookie: clients are not kept")
	case profile.Type == "PERSISTENCE_TYPE_CUSTOM_HTTP_HEADER" && profile.Header != nil:
		persistByHeader(from, into, report)
		bind(from, into)
	default:
		report.warn(subject, "persistence_type",
			"engines cannot keep clients by %s yet: has no effect; they can by "+
				"cookie, by cookies of servers, by header field, by the client's address and by sessions of TLS",
			profile.Type)
	}
}

// noteSessionsOfTLS warns of pools that keep clients by sessions of TLS which clients here cannot resume.
func (d *draft) noteSessionsOfTLS() {
	ends := d.vs // what ends the TLS of its clients
	if !hasOwnTLS(ends) {
		ends = ends.Parent
	}
	if ends == nil || httpsPort(ends) != 0 && ends.SSLProfile != nil && resumes(ends) {
		return
	}
	for _, each := range d.vs.Pools() {
		if keptByTLS(each) {
			d.report.warn(d.subject, "pool_ref", "pool %s keeps clients by their sessions of TLS, and clients of this "+
				"virtual service resume none: they go by their address", each.Name)
		}
	}
}

// resumes tells whether all clients may resume their sessions of TLS.
func resumes(vs *model.VirtualService) bool {
	return !slices.ContainsFunc(vs.SSLProfiles(), func(p *kinds.SSLProfile) bool { return !p.EnableSSLSessionReuse })
}

// noteOwnCookies warns of pools that get the cookie of another pool's servers with the token that stands before its
// value.
func (d *draft) noteOwnCookies() {
	pools := d.vs.Pools()
	at := slices.IndexFunc(pools, func(pool *model.Pool) bool { return ownCookie(pool) != "" })
	if at < 0 || d.vs.HTTP == nil {
		return
	}
	name := ownCookie(pools[at])
	for _, each := range pools {
		if ownCookie(each) != name {
			d.report.warn(d.subject, "pool_ref",
				"pool %s keeps clients by the cookie %s of its servers, and pool %s does "+
					"not: servers of %s see its value with a token before it", pools[at].Name, name,
				each.Name, each.Name)
		}
	}
}

// persistByCookie names servers in cookies. A name depends only on a key and the server: all engines agree on it, and
// clients learn no addresses.
func persistByCookie(from *model.Pool, into *dataplanev1.Pool) {
	cookie := from.Persistence.HTTPCookie
	keys := persistenceKeys(from, cookie)
	key := keys[0]
	into.Persistence = &dataplanev1.CookiePersistence{
		CookieName: cookie.CookieName, Always: cookie.AlwaysSendCookie, HttpOnly: cookie.HTTPOnly,
		TimeoutS: cookie.TimeoutMin * 60,
	}
	for _, key := range keys {
		into.Persistence.SealKeys = append(into.Persistence.SealKeys, sealKey(key))
	}
	if cookie.CookieName == "" {
		// By no key of the profile: when keys are turned, engines still have to find the cookies that are there.
		into.Persistence.CookieName = cookiePrefix + nameInCookie([]byte(from.UUID), from.UUID)[:2*cookieNameBytes]
	}
	if cookie.IsPersistentCookie {
		into.Persistence.MaxAgeS = cookie.TimeoutMin * 60
	}
	for _, server := range into.GetServers() {
		server.Token = nameInCookie(key, server.GetId())
		for _, other := range keys[1:] {
			server.OtherTokens = append(server.OtherTokens, nameInCookie(other, server.GetId()))
		}
	}
}

// ownCookie returns the name of the cookie of servers that leads clients back; empty: none does.
func ownCookie(pool *model.Pool) string {
	profile := pool.Persistence
	if profile == nil || profile.Type != typeAppCookie || profile.AppCookie == nil || !profile.AppCookie.IsNamed() {
		return ""
	}
	return profile.AppCookie.Name
}

// persistByOwnCookie names servers before the values of a cookie that they set.
func persistByOwnCookie(from *model.Pool, into *dataplanev1.Pool) {
	key := []byte(from.Persistence.AppCookie.EncryptionKey)
	if len(key) == 0 {
		key = []byte(from.UUID)
	}
	into.Persistence = &dataplanev1.CookiePersistence{CookieName: ownCookie(from), Prefixes: true}
	for _, server := range into.GetServers() {
		server.Token = nameInCookie(key, server.GetId())
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

// bindsClients tells whether clients are bound to servers of a pool.
func bindsClients(pool *model.Pool) bool {
	profile := pool.Persistence
	return profile != nil && (profile.Type == "PERSISTENCE_TYPE_HTTP_COOKIE" || ownCookie(pool) != "" ||
		profile.Type == "PERSISTENCE_TYPE_CUSTOM_HTTP_HEADER")
}

// addressBits says how much of an address counts; nil: all of it.
func addressBits(pool *model.Pool) *uint32 {
	profile := pool.Persistence
	if profile != nil && !keptByTLS(pool) && profile.ClientIP != nil && profile.ClientIP.MaskBits < 128 {
		return &profile.ClientIP.MaskBits
	}
	return nil
}

var unheededOfPersistence = declare("applicationpersistenceprofile", "",
	[]unheeded[kinds.ApplicationPersistenceProfile]{
		{"http_cookie_persistence_profile.encryption_key", func(p *kinds.ApplicationPersistenceProfile) bool {
			return p.HTTPCookie != nil && p.HTTPCookie.EncryptionKey != "" && current(p.HTTPCookie) < 0
		}, "is the name of no key with an aes_key: the first that has one makes cookies"},
		{"ip_persistence_profile.ip_persistent_timeout", func(p *kinds.ApplicationPersistenceProfile) bool {
			return p.ClientIP != nil && p.ClientIP.TimeoutMin != defaultIPTimeoutMin && p.Type == typeTLS
		}, "sessions of TLS last for ssl_session_timeout of the SSL profile: has no effect"},
		{"ip_persistence_profile.ip_persistent_timeout", func(p *kinds.ApplicationPersistenceProfile) bool {
			return p.ClientIP != nil && p.ClientIP.TimeoutMin != defaultIPTimeoutMin && p.Type != typeTLS
		}, "clients keep their server however long they are away: has no effect"},
		{"app_cookie_persistence_profile.timeout", func(p *kinds.ApplicationPersistenceProfile) bool {
			return p.AppCookie != nil && p.AppCookie.TimeoutMin != defaultAppTimeoutMin
		}, "clients keep their server as long as they send its cookie: has no effect"},
		{"ip_persistence_profile.ip_mask", func(p *kinds.ApplicationPersistenceProfile) bool {
			return p.ClientIP != nil && p.ClientIP.MaskBits < 128 && p.Type == typeTLS
		}, "is for persistence by address, and not by session of TLS: has no effect"},
	})

// current is the place of the key that encryption_key names; -1: there is none.
func current(cookie *kinds.HTTPCookiePersistence) int {
	return slices.IndexFunc(cookie.Keys, func(key kinds.PersistenceKey) bool {
		return key.AES != "" && key.Name == cookie.EncryptionKey && key.Name != ""
	})
}

// persistenceKeys returns the operator's keys, the one that makes cookies first. With them, a cookie is valid in every
// pool that has the same servers and keys. Without any, the key is the uuid of the pool, which clients do not know.
func persistenceKeys(from *model.Pool, cookie *kinds.HTTPCookiePersistence) [][]byte {
	var keys [][]byte
	first := current(cookie)
	for i, key := range cookie.Keys {
		switch {
		case i == first:
			keys = slices.Insert(keys, 0, []byte(key.AES))
		case key.AES != "":
			keys = append(keys, []byte(key.AES))
		}
	}
	if len(keys) == 0 {
		return [][]byte{[]byte(from.UUID)}
	}
	return keys
}

func nameInCookie(key []byte, name string) string {
	return hex.EncodeToString(derive(key, name)[:tokenBytes])
}

// sealKey is the key of AES-256 for cookies that say when they were made. No server has the name that it is made from.
func sealKey(key []byte) []byte { return derive(key, "cookies that say the time") }

func derive(key []byte, from string) []byte {
	sum := hmac.New(hash.New, key)
	sum.Write([]byte(from))
	return sum.Sum(nil)
}
