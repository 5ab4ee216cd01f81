package model

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/sorted"
)

// resolved has the objects of one kind that refer to others, with pointers in place of references.
type resolved[T any] struct {
	read   table[T]
	all    map[string]*resolution[T] // by uuid
	sorted []*T                      // by uuid; a new list whenever an object changes
}

// resolution is one object with its references resolved.
type resolution[T any] struct {
	value    *T
	refersTo []string // uuids, even if no object has them
	findings []Finding
}

func (r resolved[T]) find(uuid string) *T {
	if found := r.all[uuid]; found != nil {
		return found.value
	}
	return nil
}

func (r resolved[T]) findingsOf(uuid string) []Finding {
	if found := r.all[uuid]; found != nil {
		return found.findings
	}
	return nil
}

// resolveAll turns references into pointers. An object is resolved after the objects that it refers to.
func (k *Keeper) resolveAll(stale stale) {
	resolve(k, stale, "cloud", &k.clouds, k.resolveCloud, (*Cloud).Key)
	k.addGroups(stale)
	resolve(k, stale, "serviceenginegroup", &k.groups, func(from *source, group *Group) {
		group.Cloud = follow(from, k.clouds, "cloud_ref", group.CloudRef)
	}, (*Group).Key)
	resolve(k, stale, "serviceengine", &k.engines, func(from *source, engine *Engine) {
		if engine.Group = follow(from, k.groups, "se_group_ref", engine.SEGroupRef); engine.Group != nil {
			engine.Group.Engines = append(engine.Group.Engines, engine)
		}
	}, (*Engine).Key)
	resolve(k, stale, "healthmonitor", &k.monitors, k.resolveMonitor, (*HealthMonitor).Key)
	resolve(k, stale, "pool", &k.pools, k.resolvePool, (*Pool).Key)
	resolve(k, stale, "poolgroup", &k.poolGroups, k.resolvePoolGroup, (*PoolGroup).Key)
	resolve(k, stale, "errorpageprofile", &k.errorPages, k.resolveErrorPages, (*ErrorPages).Key)
	resolve(k, stale, "authprofile", &k.authProfiles, k.resolveAuthProfile, (*AuthProfile).Key)
	resolve(k, stale, "ssopolicy", &k.ssoPolicies, k.resolveSSOPolicy, (*SSOPolicy).Key)
	resolve(k, stale, "httppolicyset", &k.policySets, k.resolvePolicySet, (*HTTPPolicySet).Key)
	resolve(k, stale, "vsdatascriptset", &k.scriptSets, k.resolveScriptSet, (*ScriptSet).Key)
	resolve(k, stale, "l4policyset", &k.l4Sets, k.resolveL4Set, (*L4PolicySet).Key)
	resolve(k, stale, "networksecuritypolicy", &k.networkPolicies, k.resolveNetworkPolicy, (*NetworkPolicy).Key)
	resolve(k, stale, "virtualservice", &k.virtualServices, k.resolveVirtualService, (*VirtualService).Key)
}

// addGroups marks the groups of stale engines as stale, those from before the change and those from after it: a group
// and its engines point to each other. The engines of these groups follow, because they refer to them.
func (k *Keeper) addGroups(stale stale) {
	for uuid := range stale["serviceengine"] {
		if before := k.engines.all[uuid]; before != nil {
			for _, group := range before.refersTo {
				stale.add(subject{"serviceenginegroup", group})
			}
		}
		if engine := k.engines.read[uuid]; engine != nil && engine.SEGroupRef != "" {
			stale.add(subject{"serviceenginegroup", UUIDIn(engine.SEGroupRef)})
		}
	}
}

// resolve resolves the stale objects of a kind, and marks the objects that refer to them as stale.
func resolve[T any](k *Keeper, stale stale, kind string, to *resolved[T], one func(*source, *T),
	keyOf func(*T) string) {
	if to.all == nil {
		to.all = map[string]*resolution[T]{}
	}
	edits := map[string]*T{}
	for _, uuid := range slices.Sorted(maps.Keys(stale[kind])) {
		about := subject{kind, uuid}
		if before := to.all[uuid]; before != nil {
			k.unrefer(about, before.refersTo)
			delete(to.all, uuid)
		}
		if edits[uuid] = nil; to.read[uuid] != nil {
			own := *to.read[uuid]
			from := &source{kind: kind, uuid: uuid, name: textOf(k.read[about].object, "name")}
			one(from, &own)
			to.all[uuid], edits[uuid] = &resolution[T]{&own, from.refersTo, from.findings}, &own
			k.refer(about, from.refersTo)
		}
		stale.addAll(k.referrers[uuid])
	}
	to.sorted = sorted.Edit(to.sorted, edits, keyOf)
}

func (k *Keeper) refer(from subject, to []string) {
	for _, uuid := range to {
		if k.referrers[uuid] == nil {
			k.referrers[uuid] = map[subject]bool{}
		}
		k.referrers[uuid][from] = true
	}
}

func (k *Keeper) unrefer(from subject, to []string) {
	for _, uuid := range to {
		if delete(k.referrers[uuid], from); len(k.referrers[uuid]) == 0 {
			delete(k.referrers, uuid)
		}
	}
}

// unresolved returns the findings about the references of an object that lead to no object.
func (k *Keeper) unresolved(about subject) []Finding {
	switch about.kind {
	case "cloud":
		return k.clouds.findingsOf(about.uuid)
	case "serviceenginegroup":
		return k.groups.findingsOf(about.uuid)
	case "serviceengine":
		return k.engines.findingsOf(about.uuid)
	case "healthmonitor":
		return k.monitors.findingsOf(about.uuid)
	case "pool":
		return k.pools.findingsOf(about.uuid)
	case "poolgroup":
		return k.poolGroups.findingsOf(about.uuid)
	case "errorpageprofile":
		return k.errorPages.findingsOf(about.uuid)
	case "authprofile":
		return k.authProfiles.findingsOf(about.uuid)
	case "ssopolicy":
		return k.ssoPolicies.findingsOf(about.uuid)
	case "httppolicyset":
		return k.policySets.findingsOf(about.uuid)
	case "vsdatascriptset":
		return k.scriptSets.findingsOf(about.uuid)
	case "l4policyset":
		return k.l4Sets.findingsOf(about.uuid)
	case "networksecuritypolicy":
		return k.networkPolicies.findingsOf(about.uuid)
	case "virtualservice":
		return k.virtualServices.findingsOf(about.uuid)
	}
	return nil
}

// source is an object while its references are resolved.
type source struct {
	kind, uuid, name string
	refersTo         []string
	findings         []Finding
}

func (s *source) find(field, message string, args ...any) {
	s.findings = append(s.findings, Finding{
		Kind: s.kind, UUID: s.uuid, Name: s.name, Field: field, Message: fmt.Sprintf(message, args...),
	})
}

// UUIDIn returns the uuid that a reference names.
func UUIDIn(reference string) string { return reference[strings.LastIndexByte(reference, '/')+1:] }

// follow returns the object that a reference names. It returns nil for an empty reference, and for one that leads to no
// object. The latter is a finding.
func follow[T any](from *source, to interface{ find(uuid string) *T }, field, reference string) *T {
	if reference == "" {
		return nil
	}
	uuid := UUIDIn(reference)
	from.refersTo = append(from.refersTo, uuid)
	found := to.find(uuid)
	if found == nil {
		from.find(field, "%s is not there or cannot be used", reference)
	}
	return found
}

func followAll[T any](from *source, to interface{ find(uuid string) *T }, field string, references []string) []*T {
	var found []*T
	for i, reference := range references {
		if target := follow(from, to, fmt.Sprintf("%s[%d]", field, i), reference); target != nil {
			found = append(found, target)
		}
	}
	return found
}

func (k *Keeper) resolveCloud(from *source, cloud *Cloud) {
	if servers := cloud.LinuxServers; servers != nil {
		cloud.User = follow(from, k.connectorUsers, "linuxserver_configuration.ssh_user_ref", servers.SSHUserRef)
	}
}

func (k *Keeper) resolveMonitor(from *source, monitor *HealthMonitor) {
	field, settings := monitor.TLS()
	if settings == nil {
		return
	}
	monitor.SSLProfile = follow(from, k.sslProfiles, field+".ssl_profile_ref", settings.SSLProfileRef)
	monitor.PKIProfile = follow(from, k.pkiProfiles, field+".pki_profile_ref", settings.PKIProfileRef)
	monitor.Certificate = follow(from, k.certificates, field+".ssl_key_and_certificate_ref", settings.CertificateRef)
}

func (k *Keeper) resolvePool(from *source, pool *Pool) {
	pool.HealthMonitors = followAll(from, k.monitors, "health_monitor_refs", pool.HealthMonitorRefs)
	pool.SSLProfile = follow(from, k.sslProfiles, "ssl_profile_ref", pool.SSLProfileRef)
	pool.PKIProfile = follow(from, k.pkiProfiles, "pki_profile_ref", pool.PKIProfileRef)
	pool.Persistence = follow(from, k.persistenceProfiles, "application_persistence_profile_ref",
		pool.PersistenceProfileRef)
	pool.Analytics = follow(from, k.analyticsProfiles, "analytics_profile_ref", pool.AnalyticsProfileRef)
	pool.Certificate = follow(from, k.certificates, "ssl_key_and_certificate_ref", pool.CertificateRef)
	if pool.Group = follow(from, k.addressGroups, "ipaddrgroup_ref", pool.IPAddrGroupRef); pool.Group != nil {
		pool.addGroup(from, pool.Group)
	}
}

func (k *Keeper) resolveVirtualService(from *source, vs *VirtualService) {
	vs.Pool = follow(from, k.pools, "pool_ref", vs.PoolRef)
	vs.ErrorPages = follow(from, k.errorPages, "error_page_profile_ref", vs.ErrorPagesRef)
	vs.SSOPolicy = follow(from, k.ssoPolicies, "sso_policy_ref", vs.SSOPolicyRef)
	vs.PoolGroup = follow(from, k.poolGroups, "pool_group_ref", vs.PoolGroupRef)
	for _, at := range vs.PolicyOrder() {
		field := fmt.Sprintf("http_policies[%d].http_policy_set_ref", at)
		if set := follow(from, k.policySets, field, vs.HTTPPolicies[at].SetRef); set != nil {
			vs.Policies = append(vs.Policies, set)
		}
	}
	for _, at := range vs.ScriptOrder() {
		field := fmt.Sprintf("vs_datascripts[%d].vs_datascript_set_ref", at)
		if set := follow(from, k.scriptSets, field, vs.DataScripts[at].SetRef); set != nil {
			vs.Scripts = append(vs.Scripts, set)
		}
	}
	k.resolveL4(from, vs)
	vs.NetworkPolicy = follow(from, k.networkPolicies, "network_security_policy_ref", vs.NetworkSecurityPolicyRef)
	k.resolveBackups(from, vs)
	vs.Certificates = followAll(from, k.certificates, "ssl_key_and_certificate_refs", vs.CertificateRefs)
	vs.SSLProfile = follow(from, k.sslProfiles, "ssl_profile_ref", vs.SSLProfileRef)
	k.resolveSelectors(from, vs)
	vs.Group = follow(from, k.groups, "se_group_ref", vs.SEGroupRef)
	vs.Analytics = follow(from, k.analyticsProfiles, "analytics_profile_ref", vs.AnalyticsProfileRef)
	k.resolveProfiles(from, vs)
	if read := k.read[subject{"virtualservice", vs.UUID}]; read != nil {
		vs.Purges = read.purges
	}
	vs.Content = k.resolveContent(from, ownProfile, vs.ApplicationProfile, vs.ContentRewrite)
	k.resolveFilters(from, vs)
	k.resolveParent(from, vs)
	k.resolveHosts(from, vs)
	k.resolveClientCertificates(from, vs)
	k.resolveVariants(from, vs)
	vrfRef := vs.VrfContextRef
	if vs.SharedVip = follow(from, k.vsVips, "vsvip_ref", vs.VsVipRef); vs.SharedVip != nil {
		vs.Vips, vrfRef = vs.SharedVip.Vips, vs.SharedVip.VrfContextRef
	}
	vs.VrfContext = follow(from, k.vrfContexts, "vrf_context_ref", vrfRef)
	vs.Addresses = addresses(vs.Vips)
	vs.Closed = slices.ContainsFunc(vs.parts(), k.closes)
	vs.closeByPorts(from)
}

// closeByPorts closes a virtual service that compares clients with a group of addresses and ports: whom the operator
// means by that is not known.
func (vs *VirtualService) closeByPorts(from *source) {
	said := map[string]bool{}
	for group := range vs.AddressGroups() {
		if len(group.IPPorts) == 0 || said[group.UUID] {
			continue
		}
		said[group.UUID], vs.Closed = true, true
		from.findings = append(from.findings, Finding{Kind: "ipaddrgroup", UUID: group.UUID, Name: group.Name,
			Field: "ip_ports", Message: fmt.Sprintf("they are servers of pools, and virtual service %s compares clients with "+
				"the group: it is not served. Remove them, or give them a group of their own", vs.Name)})
	}
}

func (k *Keeper) resolveScriptSet(from *source, set *ScriptSet) {
	set.Pools = followAll(from, k.pools, "pool_refs", set.PoolRefs)
	set.Groups = followAll(from, k.poolGroups, "pool_group_refs", set.PoolGroupRefs)
	set.StringGroups = followAll(from, k.stringGroups, "string_group_refs", set.StringGroupRefs)
	set.AddressGroups = followAll(from, k.addressGroups, "ipgroup_refs", set.IPAddrGroupRefs)
}

func (k *Keeper) resolveParent(from *source, vs *VirtualService) {
	if !vs.IsChild() {
		return
	}
	vs.Parent = follow(from, k.virtualServices.read, "vh_parent_vs_ref", vs.VHParentRef)
	if vs.Parent != nil && !vs.Parent.IsParent() {
		from.find("vh_parent_vs_ref", "%s has type %s: only a VS_TYPE_VH_PARENT has children", vs.Parent.Name,
			vs.Parent.Type)
		vs.Parent = nil
	}
	if vs.Parent == nil {
		return
	}
	found := len(from.findings)
	profile := follow(from, k.networkProfiles, "vh_parent_vs_ref", vs.Parent.NetworkProfileRef)
	if profile != nil {
		vs.ParentTCP = tcpOf(profile)
	}
	from.findings = from.findings[:found] // the parent has them
}

// resolveSelectors finds the SSL profiles of some clients, and the groups that these are in.
func (k *Keeper) resolveSelectors(from *source, vs *VirtualService) {
	if len(vs.SSLProfileSelectors) == 0 {
		return
	}
	vs.SelectedProfiles = make([]*kinds.SSLProfile, len(vs.SSLProfileSelectors))
	vs.SelectorGroups = map[string]*AddressGroup{}
	for i, selector := range vs.SSLProfileSelectors {
		at := fmt.Sprintf("ssl_profile_selectors[%d].", i)
		vs.SelectedProfiles[i] = follow(from, k.sslProfiles, at+"ssl_profile_ref", selector.ProfileRef)
		if clients := selector.Clients; clients != nil {
			followInto(from, k.addressGroups, at+"client_ip_list.group_refs", clients.GroupRefs, vs.SelectorGroups)
		}
	}
}

// resolveHosts finds the groups of addresses that a child compares requests with.
func (k *Keeper) resolveHosts(from *source, vs *VirtualService) {
	if !vs.IsChild() || !vs.ByRequest() {
		return
	}
	found := &HTTPPolicySet{AddressGroups: map[string]*AddressGroup{}, StringGroups: map[string]*kinds.StringGroup{}}
	for i, match := range vs.VHMatches {
		for j, rule := range match.Rules {
			k.resolveMatch(from, found, fmt.Sprintf("vh_matches[%d].rules[%d].matches", i, j), rule.Matches)
		}
	}
	// A group that closes the child may lack addresses: engines cannot tell by it what the child wants.
	for reference, group := range found.AddressGroups {
		if !group.IsPlace && (k.closes(subject{"ipaddrgroup", group.UUID}) || len(group.IPPorts) > 0) {
			partial := *group
			partial.IsPartial = true
			found.AddressGroups[reference] = &partial
		}
	}
	vs.HostGroups = found.AddressGroups
	vs.VHMatches, vs.TextOrigins = kinds.WithTexts(vs.VHMatches, found.StringGroups, from.find)
}

// resolveClientCertificates finds the authorities for clients. About those of a parent, the parent has the findings.
func (k *Keeper) resolveClientCertificates(from *source, vs *VirtualService) {
	wanted := vs.ApplicationProfile.ClientCertificates()
	vs.ClientPKI = follow(from, k.pkiProfiles, ownProfile+"."+wanted.Path+"pki_profile_ref",
		wanted.PKIProfileRef)
	if vs.Parent == nil {
		return
	}
	found := len(from.findings)
	vs.ParentProfile = follow(from, k.applicationProfiles, "vh_parent_vs_ref", vs.Parent.ApplicationProfileRef)
	vs.ParentPKI = follow(from, k.pkiProfiles, "vh_parent_vs_ref",
		vs.ParentProfile.ClientCertificates().PKIProfileRef)
	from.findings = from.findings[:found]
}

// closes tells whether an object has a field that closes the virtual services that use the object.
func (k *Keeper) closes(about subject) bool {
	read := k.read[about]
	return read == nil || read.closes
}

func (k *Keeper) resolveProfiles(from *source, vs *VirtualService) {
	vs.speak(follow(from, k.applicationProfiles, "application_profile_ref", vs.ApplicationProfileRef),
		follow(from, k.networkProfiles, "network_profile_ref", vs.NetworkProfileRef))
}

// tcpOf returns what a network profile says of TCP; nil: it is not for TCP.
func tcpOf(profile *kinds.NetworkProfile) *kinds.TCPProxy {
	switch setting := profile.Profile; setting.Type {
	case "PROTOCOL_TYPE_TCP_PROXY":
		return orDefaults(setting.TCPProxy)
	case "PROTOCOL_TYPE_TCP_FAST_PATH":
		return orDefaults(setting.TCPFastPath).Proxy()
	}
	return nil
}

func orDefaults[T any](given *T) *T {
	if given != nil {
		return given
	}
	return schema.Defaults[T]()
}

func addresses(vips []kinds.Vip) []netip.Addr {
	var found []netip.Addr
	for _, vip := range vips {
		for _, ip := range []*kinds.IPAddr{vip.IPAddress, vip.IP6Address} {
			if ip == nil || !vip.Enabled {
				continue
			}
			if address := ip.Address(); address.IsValid() {
				found = append(found, address)
			}
		}
	}
	return found
}
