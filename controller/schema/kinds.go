package schema

import (
	"reflect"
	"time"
)

// scope is what a kind's objects belong to and how they come to be.
type scope int

const (
	perTenant scope = 1 << iota
	selfMade        // engines join by themselves
	global    scope = 0
)

// kinds is every kind there is, described once while the program starts.
var kinds = keepingRest([]*Kind{
	kind[Tenant]("tenant", "Tenant", global),
	kind[CloudConnectorUser]("cloudconnectoruser", "CloudConnectorUser", perTenant),
	kind[Cloud]("cloud", "Cloud", perTenant),
	kind[VrfContext]("vrfcontext", "VrfContext", perTenant),
	kind[AnalyticsProfile]("analyticsprofile", "AnalyticsProfile", perTenant),
	kind[ServiceEngineGroup]("serviceenginegroup", "ServiceEngineGroup", perTenant),
	kind[SSLProfile]("sslprofile", "SSLProfile", perTenant),
	kind[SSLKeyAndCertificate]("sslkeyandcertificate", "SSLKeyAndCertificate", perTenant).derivedBy(deriveCertificate),
	kind[PKIProfile]("pkiprofile", "PKIProfile", perTenant).derivedBy(deriveAuthorities),
	kind[NetworkProfile]("networkprofile", "NetworkProfile", perTenant),
	kind[ApplicationProfile]("applicationprofile", "ApplicationProfile", perTenant),
	kind[HealthMonitor]("healthmonitor", "HealthMonitor", perTenant),
	kind[ApplicationPersistenceProfile]("applicationpersistenceprofile", "ApplicationPersistenceProfile", perTenant),
	kind[Pool]("pool", "Pool", perTenant).filledBy(fillPool),
	kind[VsVip]("vsvip", "VsVip", perTenant).filledBy(func(o Object) { fillVips(o["vip"]) }),
	kind[VirtualService]("virtualservice", "VirtualService", perTenant).filledBy(fillVirtualService),
	kind[ServiceEngine]("serviceengine", "ServiceEngine", perTenant|selfMade).prefixed("se"),
	kind[SystemConfiguration]("systemconfiguration", "SystemConfiguration", global).only("default"),
	kind[User]("user", "User", global).filledBy(fillUser),
})

var kindByName = func() map[string]*Kind {
	byName := make(map[string]*Kind, len(kinds))
	for _, k := range kinds {
		byName[k.Name] = k
	}
	return byName
}()

func kind[T any](name, title string, scope scope) *Kind {
	k := &Kind{Name: name, Title: title, Prefix: name, scope: scope, record: describe(reflect.TypeFor[T](), 0)}
	if _, ok := any(new(T)).(checked); ok {
		k.check = checkAs[T]
	}
	return k
}

// checked is a kind with rules between its fields.
type checked interface{ check() *FieldError }

func checkAs[T any](o Object) *FieldError {
	typed, err := Into[T](o)
	if err != nil {
		return &FieldError{Problem: err.Error()}
	}
	return any(typed).(checked).check()
}

func (k *Kind) derivedBy(f func(Object, time.Time) *FieldError) *Kind {
	k.derive = f
	return k
}

func (k *Kind) prefixed(prefix string) *Kind  { k.Prefix = prefix; return k }
func (k *Kind) only(uuid string) *Kind        { k.Only = uuid; return k }
func (k *Kind) filledBy(f func(Object)) *Kind { k.fill = f; return k }
