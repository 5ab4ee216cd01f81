package kinds

// Reasons that rules of several kinds give for fields that have no function in Weir.
const (
	noDNS          = "engines do not answer DNS yet"
	noLogs         = "engines and the controller keep their own logs as they are"
	noInsights     = "Weir does not measure pages in browsers, and learns nothing from requests"
	noNames        = "Weir registers no names"
	noAllocation   = "Weir allocates no addresses: give ip_address"
	noCloud        = "Weir starts engines on Linux servers only, over SSH"
	noLogin        = "users log in with accounts of Weir only"
	noCertificate  = "Weir makes self-signed certificates only, and renews none"
	ownHardware    = "engines use the hardware of their machines as it is"
	ownNetwork     = "Weir leaves networks and interfaces of machines as they are"
	noHSM          = "keys are kept by Weir, not in hardware"
	noReputation   = "engines do not know the reputation of addresses"
	noBots         = "engines do not detect bots yet"
	ownLength      = "engines count the bytes of a body themselves"
	noFingerprints = "engines do not tell clients by their TLS yet"
	computed       = "Weir computes it"
	noSites        = "Weir serves no sites, and has no others to send the object to"
	ownRoutes      = "engines reach servers by the routes of their machines"
	noZones        = "Weir places virtual services and chooses servers without regard to zones"
	noNSX          = "Weir configures no routers of NSX"
	noMesos        = "Weir has no clouds of Mesos"
)
