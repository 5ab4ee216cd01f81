package kinds

// Reasons that rules of several kinds give for fields that have no function in Weir.
const (
	noRates       = "engines do not limit rates yet"
	noDNS         = "engines do not answer DNS yet"
	noLogs        = "engines and the controller keep their own logs as they are"
	noInsights    = "Weir does not measure pages in browsers, and learns nothing from requests"
	noNames       = "Weir registers no names"
	noAllocation  = "Weir allocates no addresses: give ip_address"
	noCloud       = "Weir starts engines on Linux servers only, over SSH"
	noLogin       = "users log in with accounts of Weir only"
	noCertificate = "Weir makes self-signed certificates only, and renews none"
	ownHardware   = "engines use the hardware of their machines as it is"
	ownNetwork    = "Weir leaves networks and interfaces of machines as they are"
	noHSM         = "keys are kept by Weir, not in hardware"
	noGroups      = "filters and rules of logs use no groups yet: give addresses and texts one by one"
	byHostAndPath = "engines choose a child virtual service by host and path only yet"
	computed      = "Weir computes it"
)
