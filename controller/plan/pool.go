package plan

import (
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	roundRobin   = "LB_ALGORITHM_ROUND_ROBIN"
	fewestTasks  = "LB_ALGORITHM_FEWEST_TASKS"
	coreAffinity = "LB_ALGORITHM_CORE_AFFINITY"

	// connectTimeoutMs: if a server does not accept a connection within five seconds, the engine tries another server.
	// Avi's default of one hour is a limit of the kernel, and nobody's choice.
	connectTimeoutMs = 5_000
	// defaultServerTimeoutMs is what server_timeout 0 means.
	defaultServerTimeoutMs = 60 * minuteMs
	minuteMs               = 60 * 1000
)

var algorithms = map[string]dataplanev1.Algorithm{
	"LB_ALGORITHM_LEAST_CONNECTIONS": dataplanev1.Algorithm_ALGORITHM_LEAST_CONNECTIONS,
	"LB_ALGORITHM_ROUND_ROBIN":       dataplanev1.Algorithm_ALGORITHM_ROUND_ROBIN,
	"LB_ALGORITHM_CONSISTENT_HASH":   dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH,
	"LB_ALGORITHM_RANDOM":            dataplanev1.Algorithm_ALGORITHM_RANDOM,
	"LB_ALGORITHM_FASTEST_RESPONSE":  dataplanev1.Algorithm_ALGORITHM_FASTEST_RESPONSE,
	"LB_ALGORITHM_LEAST_LOAD":        dataplanev1.Algorithm_ALGORITHM_LEAST_LOAD,
	"LB_ALGORITHM_FEWEST_SERVERS":    dataplanev1.Algorithm_ALGORITHM_FEWEST_SERVERS,
	// What engines of earlier versions do in place of newerAlgorithms.
	"LB_ALGORITHM_FEWEST_TASKS":  dataplanev1.Algorithm_ALGORITHM_LEAST_CONNECTIONS,
	"LB_ALGORITHM_CORE_AFFINITY": dataplanev1.Algorithm_ALGORITHM_LEAST_CONNECTIONS,
}

// withoutAlgorithm says why an algorithm is not served. The servers with the fewest connections are chosen instead.
var withoutAlgorithm = map[string]string{
	"LB_ALGORITHM_NEAREST_SERVER": "it is for sites, and Weir serves none",
	"LB_ALGORITHM_TOPOLOGY":       "it is for sites, and Weir serves none",
}

// withoutHash says the same of the input of a hash. The client's address is hashed instead.
var withoutHash = map[string]string{
	"LB_ALGORITHM_CONSISTENT_HASH_CALLID": "it is for APPLICATION_PROFILE_TYPE_SIP, and engines do not read SIP",
}

var hashInputs = map[string]dataplanev1.HashInput{
	"LB_ALGORITHM_CONSISTENT_HASH_SOURCE_IP_ADDRESS":          dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS,
	"LB_ALGORITHM_CONSISTENT_HASH_SOURCE_IP_ADDRESS_AND_PORT": dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS_AND_PORT,
	"LB_ALGORITHM_CONSISTENT_HASH_URI":                        dataplanev1.HashInput_HASH_INPUT_URI,
	"LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_HEADER":              dataplanev1.HashInput_HASH_INPUT_HEADER,
	// DataScripts give the string. Of a request for which none does, the address is hashed.
	"LB_ALGORITHM_CONSISTENT_HASH_CUSTOM_STRING": dataplanev1.HashInput_HASH_INPUT_SOURCE_ADDRESS,
}

// pool converts a pool, the monitors of it that engines can run, and what TLS to its servers needs.
func pool(from *model.Pool, report *report) []*enginev1.Resource {
	var parts []*enginev1.Resource
	var monitors []string
	for _, monitor := range from.HealthMonitors {
		warnHTTP1(from, monitor, report)
		if compiled := healthMonitor(monitor, report); compiled != nil {
			monitors = append(monitors, monitor.UUID)
			parts = append(parts, &enginev1.Resource{
				Uuid: monitor.UUID,
				Body: &enginev1.Resource_HealthMonitor{HealthMonitor: compiled},
			})
		}
	}
	compiled := &enginev1.Pool{
		Pool: poolOf(from, report), HealthMonitorUuids: monitors, MinHealthMonitorsUp: from.MinHealthMonitorsUp,
		AppendPort: appendPorts[from.AppendPort],
	}
	compiled.Pool.Monitored = len(monitors) > 0
	if compiled.Pool.NewerAlgorithm == dataplanev1.Algorithm_ALGORITHM_FEWEST_TASKS {
		compiled.TasksIntervalMs = from.FewestTasksDelayS * 1000
	}
	secured, needed := serverTLS(from, report)
	compiled.Pool.ServerTls = secured
	checkTLSByService(from, report)
	parts = append(parts, needed...)
	return append(parts, &enginev1.Resource{Uuid: from.UUID, Body: &enginev1.Resource_Pool{Pool: compiled}})
}

// warnHTTP1 warns of a monitor that speaks HTTP/1 although its pool speaks HTTP/2.
func warnHTTP1(from *model.Pool, monitor *model.HealthMonitor, report *report) {
	check := monitor.Check
	if !from.EnableHTTP2 || check == nil {
		return
	}
	subject := about("pool", from.Identity, from.Named)
	if check.ExactRequest {
		report.warn(subject, "enable_http2", "the health monitor %s speaks HTTP/1, because of exact_http_request",
			monitor.Name)
	} else if check.AuthType == "AUTH_NTLM" {
		report.warn(subject, "enable_http2", "the health monitor %s speaks HTTP/1, because of AUTH_NTLM", monitor.Name)
	}
}

func poolOf(from *model.Pool, report *report) *dataplanev1.Pool {
	subject := about("pool", from.Identity, from.Named)
	warnUnheeded(subject, unheededOfPool, from, report)
	timeoutMs := from.ServerTimeoutMs
	if timeoutMs == 0 {
		timeoutMs = defaultServerTimeoutMs
	}
	compiled := &dataplanev1.Pool{
		Uuid:                    from.UUID,
		Name:                    from.Name,
		Servers:                 servers(from),
		ConnectTimeoutMs:        min(connectTimeoutMs, timeoutMs),
		ResponseTimeoutMs:       timeoutMs,
		IdleConnectionTimeoutMs: from.Conn.IdleTimeoutMs,
		ConnectionLifetimeMs:    from.Conn.LifetimeMs,
		MaxConnectionReuse:      from.Conn.MaxReuse,
		MaxIdleConnections:      from.Conn.MaxPerServer,
		MinServersUp:            from.MinServersUp,
		UseServicePort:          from.UseServicePort,
		TlsByService:            tlsByService(from),
		InlineHealth:            from.InlineHealthMonitor,
		RampMs:                  from.ConnectionRampMin * minuteMs,
		Http2:                   http2ToServers(from),
		DisableTimeoutMs:        grace(from.GracefulDisableMin, minuteMs),
		DownTimeoutMs:           grace(from.GracefulDownS, 1000),
	}
	if from.RequestQueueEnabled {
		compiled.RequestQueueDepth = &from.RequestQueueDepth
	}
	if rate := from.MaxConnRatePerServer; rate != nil {
		// A pool may be older than the check. An engine refuses a Plan with such a limit.
		if problem := rate.CheckOfServers(kinds.ServerConnectionRate); problem != nil {
			report.warn(subject, problem.Field, "%s: has no effect", problem.Problem)
		} else {
			compiled.ConnectRate = rateLimit(rate.RateLimiter, rate.Action)
		}
	}
	failAction(from.FailAction, compiled)
	compiled.Reselect = reselect(subject, from, report)
	if from.Analytics != nil {
		compiled.NotErrors = notErrors(from.Analytics)
	}
	if !keptByAddress(from) {
		balance(subject, from, compiled, report)
	}
	persist(from, compiled, report)
	nameHosts(from, compiled, report)
	return compiled
}

// grace is how long a server keeps what it has, in milliseconds; nil: until that ends.
func grace(timeout int32, unitMs uint32) *uint32 {
	if timeout < 0 {
		return nil
	}
	timeoutMs := uint32(timeout) * unitMs
	return &timeoutMs
}

// http2ToServers converts the settings for servers that speak HTTP/2. A pool without these settings has the defaults.
func http2ToServers(from *model.Pool) *dataplanev1.Http2ToServers {
	if !from.EnableHTTP2 {
		return nil
	}
	properties := from.HTTP2
	if properties == nil {
		properties = usualHTTP2OfPool
	}
	return &dataplanev1.Http2ToServers{
		MaxControlFrames: properties.MaxControlFrames,
		MaxFieldBytes:    properties.MaxHeaderFieldBytes,
	}
}

func servers(from *model.Pool) []*dataplanev1.Server {
	compiled := make([]*dataplanev1.Server, 0, len(from.Members))
	for _, member := range from.Members {
		compiled = append(compiled, &dataplanev1.Server{
			Id:             member.ID,
			Address:        member.Address.Addr().String(),
			Port:           uint32(member.Address.Port()),
			Ratio:          member.Ratio,
			Enabled:        from.Enabled && member.Enabled,
			Hostname:       member.Hostname,
			MaxConnections: uint32(from.MaxConnectionsPerServer),
		})
	}
	return compiled
}

func balance(subject subject, from *model.Pool, into *dataplanev1.Pool, report *report) {
	algorithm, known := algorithms[from.Algorithm]
	if !known {
		report.warn(subject, "lb_algorithm", "%s has no effect: %s; servers with the fewest connections are chosen",
			from.Algorithm, withoutAlgorithm[from.Algorithm])
	}
	into.Algorithm = algorithm
	balanceAnew(subject, from, into, report)
	if algorithm == dataplanev1.Algorithm_ALGORITHM_FEWEST_SERVERS {
		into.SlowMs = from.CapacityEstimationTTFBMs
	}
	if algorithm != dataplanev1.Algorithm_ALGORITHM_CONSISTENT_HASH {
		return
	}
	into.HashAddresses = from.IgnoreServerPort
	input, known := hashInputs[from.Hash]
	if !known {
		report.warn(subject, "lb_algorithm_hash", "%s has no effect: %s; the client's address is hashed",
			from.Hash, withoutHash[from.Hash])
	}
	into.HashInput = input
	if input == dataplanev1.HashInput_HASH_INPUT_HEADER {
		into.HashHeader = from.HashHeader
	}
}

// balanceAnew is for the algorithms that engines of earlier versions do not know.
func balanceAnew(subject subject, from *model.Pool, into *dataplanev1.Pool, report *report) {
	switch {
	case from.Algorithm == fewestTasks && !slices.ContainsFunc(from.HealthMonitors, isScript):
		report.warn(subject, "lb_algorithm", "%s needs a health monitor of type HEALTH_MONITOR_EXTERNAL whose script "+
			"writes how many tasks a server has; servers with the fewest connections are chosen", from.Algorithm)
	case from.Algorithm == fewestTasks:
		into.NewerAlgorithm = dataplanev1.Algorithm_ALGORITHM_FEWEST_TASKS
	case from.Algorithm == coreAffinity:
		into.NewerAlgorithm = dataplanev1.Algorithm_ALGORITHM_CORE_AFFINITY
		into.CoreNonaffinity = from.CoreNonaffinity
	case from.Algorithm == roundRobin && from.RoundRobinPerSE:
		into.NewerAlgorithm = dataplanev1.Algorithm_ALGORITHM_ROUND_ROBIN_OF_ENGINE
	}
}

func fillsServers(pool *model.Pool) bool { return pool.Algorithm == "LB_ALGORITHM_FEWEST_SERVERS" }
