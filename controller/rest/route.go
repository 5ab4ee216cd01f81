package rest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
)

type handler func(*call) error

// methods are the handlers of one path.
type methods map[string]handler

// endpoint is a path that does not belong to a kind of object.
type endpoint struct {
	audience
	methods
}

// audience says who may call an endpoint.
type audience int

const (
	tenants  audience = iota // users, in a tenant that they have access to
	watchers                 // as tenants, but the request is no use of the session: it expires as if there were none
	users                    // users, even without access to a tenant
	anybody
)

// endpoints by path; "*" stands for one segment.
var endpoints = map[string]endpoint{
	"healthz":                               {anybody, methods{"GET": health}},
	"login":                                 {anybody, methods{"POST": login}},
	"logout":                                {users, methods{"POST": logout}},
	"api/initial-data":                      {anybody, methods{"GET": initialData}},
	"api/cluster":                           {users, methods{"GET": showCluster}},
	"api/cluster/status":                    {anybody, methods{"GET": clusterStatus}},
	"api/cluster/runtime":                   {anybody, methods{"GET": clusterRuntime}},
	"api/cluster/version":                   {anybody, methods{"GET": clusterVersion}},
	"api/user-token":                        {users, methods{"GET": listTokens, "POST": createToken}},
	"api/user-token/*":                      {users, methods{"DELETE": revokeToken}},
	"api/useraccount":                       {users, methods{"GET": showAccount, "PUT": changeAccount}},
	"api/securetoken-generate":              {tenants, methods{"POST": createJoinToken}},
	"api/audit":                             {tenants, methods{"GET": showAudit}},
	"api/analytics/logs":                    {tenants, methods{"GET": showLogs}},
	"api/weir/live":                         {watchers, methods{"GET": streamLive}},
	"api/virtualservice/*/scaleout":         {tenants, methods{"POST": scale(place.DoScaleOut)}},
	"api/virtualservice/*/scalein":          {tenants, methods{"POST": scale(place.DoScaleIn)}},
	"api/virtualservice/*/migrate":          {tenants, methods{"POST": scale(place.DoMigrate)}},
	"api/virtualservice/*/switchover":       {tenants, methods{"POST": scale(place.DoSwitchover)}},
	"api/virtualservice/*/retryplacement":   {tenants, methods{"POST": scale(place.DoRetry)}},
	"api/virtualservice/*/rotatekeys":       {tenants, methods{"POST": rotateKeys}},
	"api/virtualservice/*/scaleoutstatus":   {tenants, methods{"GET": scaleStatus}},
	"api/actiongroupconfig/*/test":          {tenants, methods{"POST": testReceiver}},
	"api/webhook/*/test":                    {tenants, methods{"POST": testReceiver}},
	"api/alertemailconfig/*/test":           {tenants, methods{"POST": testReceiver}},
	"api/alertsyslogconfig/*/test":          {tenants, methods{"POST": testReceiver}},
	"api/alertconfig/*/silence":             {tenants, methods{"POST": silenceAlerts}},
	"api/serviceenginegroup/*/redistribute": {tenants, methods{"POST": redistribute}},
}

// route returns the handler of a request. Errors: *admit.NotAllowed, *noSuchPath.
func (c *call) route() (handle handler, audience audience, err error) {
	found, ok := c.endpoint()
	if !ok {
		found, ok = c.page()
	}
	if !ok {
		kind, known := c.kind()
		if !known {
			return nil, anybody, &noSuchPath{c.r.URL.Path}
		}
		found = endpoint{methods: generic(kind, len(c.path) == 3)}
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	allowed := slices.AppendSeq([]string{"HEAD", "OPTIONS"}, maps.Keys(found.methods))
	slices.Sort(allowed)
	c.w.Header().Set("Allow", strings.Join(allowed, ", "))
	if method == http.MethodOptions {
		return options, anybody, nil
	}
	handle, ok = found.methods[method]
	if !ok {
		return nil, anybody, &admit.NotAllowed{Reason: "Method '" + c.r.Method + "' not allowed"}
	}
	return handle, found.audience, nil
}

func (c *call) endpoint() (endpoint, bool) {
	if found, ok := endpoints[strings.Join(c.path, "/")]; ok {
		return found, true
	}
	if found, ok := c.area(); ok {
		return found, true
	}
	if found, ok := c.inventory(); ok {
		return found, true
	}
	if len(c.path) < 3 {
		return endpoint{}, false
	}
	pattern := slices.Clone(c.path)
	pattern[2] = "*"
	if found, ok := endpoints[strings.Join(pattern, "/")]; ok {
		return found, true
	}
	report := c.api.reports[c.path[1]][strings.Join(c.path[3:], "/")]
	return endpoint{methods: methods{"GET": showReport(report)}}, report != nil && c.path[0] == "api"
}

// kind returns the kind of "/api/<kind>" and "/api/<kind>/<uuid>".
func (c *call) kind() (*schema.Kind, bool) {
	if len(c.path) < 2 || len(c.path) > 3 || c.path[0] != "api" {
		return nil, false
	}
	return schema.Lookup(c.path[1])
}

// generic returns the handlers for the objects of a kind, or for one of them.
func generic(kind *schema.Kind, one bool) methods {
	bind := func(handle func(*call, *schema.Kind) error) handler {
		return func(c *call) error { return handle(c, kind) }
	}
	switch {
	case kind.Only != "":
		return methods{"GET": bind(show), "PUT": bind(replace), "PATCH": bind(patch)}
	case one:
		return methods{"GET": bind(show), "PUT": bind(replace), "PATCH": bind(patch), "DELETE": bind(remove)}
	case kind.Creatable():
		return methods{"GET": bind(list), "POST": bind(create)}
	default:
		return methods{"GET": bind(list)}
	}
}

func options(c *call) error {
	c.w.WriteHeader(http.StatusOK)
	return nil
}
