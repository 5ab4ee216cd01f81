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
	needs // of tenants and watchers; others need none
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
	"healthz":                  {anybody, nil, methods{"GET": health}},
	"login":                    {anybody, nil, methods{"POST": login}},
	"logout":                   {users, nil, methods{"POST": logout}},
	"api/initial-data":         {anybody, nil, methods{"GET": initialData}},
	"api/cluster":              {users, nil, methods{"GET": showCluster}},
	"api/cluster/status":       {anybody, nil, methods{"GET": clusterStatus}},
	"api/cluster/runtime":      {anybody, nil, methods{"GET": clusterRuntime}},
	"api/cluster/version":      {anybody, nil, methods{"GET": clusterVersion}},
	"api/user-token":           {users, nil, methods{"GET": listTokens, "POST": createToken}},
	"api/user-token/*":         {users, nil, methods{"DELETE": revokeToken}},
	"api/useraccount":          {users, nil, methods{"GET": showAccount, "PUT": changeAccount}},
	"api/securetoken-generate": {tenants, makesJoinTokens, methods{"POST": createJoinToken}},
	"api/audit":                {tenants, readsAudit, methods{"GET": showAudit}},
	"api/analytics/logs":       {tenants, readsLogs, methods{"GET": showLogs}},
	"api/weir/live":            {watchers, watches, methods{"GET": streamLive}},
	"api/virtualservice/*/scaleout": {tenants, actsOn("virtualservice"),
		methods{"POST": scale(place.DoScaleOut)}},
	"api/virtualservice/*/scalein": {tenants, actsOn("virtualservice"),
		methods{"POST": scale(place.DoScaleIn)}},
	"api/virtualservice/*/migrate": {tenants, actsOn("virtualservice"),
		methods{"POST": scale(place.DoMigrate)}},
	"api/virtualservice/*/switchover": {tenants, actsOn("virtualservice"),
		methods{"POST": scale(place.DoSwitchover)}},
	"api/virtualservice/*/retryplacement":   {tenants, actsOn("virtualservice"), methods{"POST": scale(place.DoRetry)}},
	"api/virtualservice/*/rotatekeys":       {tenants, actsOn("virtualservice"), methods{"POST": rotateKeys}},
	"api/virtualservice/*/purge":            {tenants, actsOn("virtualservice"), methods{"POST": purge}},
	"api/virtualservice/*/scaleoutstatus":   {tenants, readsOf("virtualservice"), methods{"GET": scaleStatus}},
	"api/actiongroupconfig/*/test":          {tenants, actsOn("actiongroupconfig"), methods{"POST": testReceiver}},
	"api/webhook/*/test":                    {tenants, actsOn("webhook"), methods{"POST": testReceiver}},
	"api/alertemailconfig/*/test":           {tenants, actsOn("alertemailconfig"), methods{"POST": testReceiver}},
	"api/alertsyslogconfig/*/test":          {tenants, actsOn("alertsyslogconfig"), methods{"POST": testReceiver}},
	"api/alertconfig/*/silence":             {tenants, actsOn("alertconfig"), methods{"POST": silenceAlerts}},
	"api/serviceenginegroup/*/redistribute": {tenants, actsOn("serviceenginegroup"), methods{"POST": redistribute}},
}

// route returns the handler of a request, and the endpoint that it belongs to. Errors: *admit.NotAllowed, *noSuchPath.
func (c *call) route() (handle handler, found endpoint, err error) {
	found, ok := c.endpoint()
	if !ok {
		found, ok = c.page()
	}
	if !ok {
		kind, known := c.kind()
		if !known {
			return nil, found, &noSuchPath{c.r.URL.Path}
		}
		found = endpoint{tenants, usesOf(kind), generic(kind, len(c.path) == 3)}
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	allowed := slices.AppendSeq([]string{"HEAD", "OPTIONS"}, maps.Keys(found.methods))
	slices.Sort(allowed)
	c.w.Header().Set("Allow", strings.Join(allowed, ", "))
	if method == http.MethodOptions {
		return options, endpoint{audience: anybody}, nil
	}
	handle, ok = found.methods[method]
	if !ok {
		return nil, found, &admit.NotAllowed{Reason: "Method '" + c.r.Method + "' not allowed"}
	}
	return handle, found, nil
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
	return endpoint{tenants, readsOf(c.path[1]), methods{"GET": showReport(report)}},
		report != nil && c.path[0] == "api"
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
