package schema

import (
	"slices"
	"strings"
)

// This file says what becomes of an object with a field that Avi knows and Weir does not act on: the first rule of its kind
// that names the field, or what the field is within. What no rule names has no effect, as the last rule of the kind says why;
// unless it looks as if it kept somebody out (guarding in kept.go): then it closes, so that nothing is ever opened by omission.

// rule judges the fields of a kind that it names, with spaces between; a name that ends with * stands for all that begin so.
type rule struct {
	effect effect
	why    string
	fields string
}

// judgement is what a rule says of a field.
type judgement struct {
	effect effect
	why    string
}

const (
	noRates       = "engines do not limit rates yet"
	noDNS         = "engines do not answer DNS yet"
	noLogs        = "engines keep no logs of requests yet"
	noScores      = "Weir computes no health scores yet"
	noAllocation  = "Weir allocates no addresses: give ip_address"
	noCloud       = "Weir starts engines on Linux servers only, over SSH"
	noLogin       = "users log in by what Weir itself knows of them"
	noCertificate = "Weir makes and renews no certificates by itself but those that are self_signed"
	ownHardware   = "engines are as the machines that they run on"
	ownAnswers    = "engines answer with a status and no more"
	ownNetwork    = "Weir leaves networks and interfaces of machines as they are"
	noHSM         = "keys are kept by Weir, not in hardware"
	noClientCert  = "engines do not ask clients for certificates yet"
	computed      = "it is found out, not set"
	nobody        = "Weir does not act on it"
	unknownGuard  = "Weir does not know how to do what it asks for"
)

var rules = map[string][]rule{
	"tenant": {
		{noEffect, "Weir does not hold labels against groups of labels", "label_group_refs"},
	},
	"cloudconnectoruser": {
		{noEffect, noCloud, "azure_* gcp_* nsxt_* oci_* tencent_* vcenter_*"},
	},
	"cloud": {
		{noEffect, noCloud, `aws_configuration azure_configuration cloudstack_configuration docker_configuration gcp_configuration
			nsxt_configuration openstack_configuration rancher_configuration vca_configuration vcenter_configuration vmc_deployment`},
		{noEffect, "addresses are given, and names are registered by others", "dns_* east_west_* ipam_provider_ref resolve_fqdn_to_ipv6"},
		{noEffect, ownNetwork, "mgmt_ip_* proxy_configuration ntp_configuration"},
		{noEffect, nobody, ""},
	},
	"vrfcontext": {
		{noEffect, nobody, ""},
	},
	"analyticsprofile": {
		{noEffect, noScores, "hs_security_*"},
		{noEffect, noLogs, `client_log_config client_log_streaming_config sensitive_log_profile exclude_dns_policy_drop_as_significant
			sip_log_depth`},
		{noEffect, noScores, ""},
	},
	"serviceenginegroup": {
		{closes, "engines set no packet filters", "iptables"},
		{noEffect, noHSM, "hardwaresecuritymodulegroup_ref enable_hsm_*"},
		{noEffect, "what reaches an engine's machine is decided where that machine is", `ingress_access_data ingress_access_mgmt
			disable_avi_securitygroups custom_securitygroups_data custom_securitygroups_mgmt`},
		{noEffect, "engines run no scripts and no application firewall yet", "datascript_timeout waf_mempool*"},
		{noEffect, noLogs, "log_* se_log_* se_group_analytics_policy"},
		{noEffect, noRates, "se_dos_profile se_rl_prop handle_per_pkt_attack"},
		{noEffect, noCloud, `accelerated_networking availability_zone_refs custom_tag data_network_id gcp_config hypervisor
			instance_flavor* mgmt_network_ref mgmt_subnet openstack_* vcenter* vip_asg license_*`},
		{noEffect, ownHardware, ""},
	},
	"sslprofile": {
		{noEffect, computed, "ssl_rating"},
	},
	"sslkeyandcertificate": {
		{noEffect, noCertificate, "certificate_management_profile_ref dynamic_params"},
		{noEffect, noHSM, "hardwaresecuritymodulegroup_ref import_key_to_hsm enckey_*"},
		{noEffect, "engines do not ask for the status of certificates", "ocsp_*"},
		{noEffect, computed, ""},
	},
	"pkiprofile": {
		{closes, "engines cannot check revocation lists yet", "crls"},
		{closes, "engines take what a peer sends of its chain", "ignore_peer_chain"},
		{noEffect, "what cannot be verified is refused", "allow_pki_errors"},
		{noEffect, "engines cannot check revocation lists yet", "validate_only_leaf_crl"},
		{noEffect, computed, ""},
	},
	"networkprofile": {
		{noEffect, "engines do not speak SCTP", "profile.sctp_*"},
	},
	"applicationprofile": {
		{closes, noClientCert, `http_profile.pki_profile_ref tcp_app_profile.pki_profile_ref tcp_app_profile.ssl_client_certificate_mode`},
		{closes, noClientCert + ", and a client could send what servers take for the engine's word", "http_profile.ssl_client_certificate_action"},
		{noEffect, noRates, "dos_rl_profile"},
		{noEffect, noDNS, "dns_service_profile"},
		{noEffect, "engines do not speak SIP", "sip_service_profile"},
		{noEffect, "engines do not look into FTP", "tcp_app_profile.ftp_profile"},
		{noEffect, "engines do not cache yet", "http_profile.cache_config"},
		{noEffect, "engines do not compress yet", "http_profile.compression_profile"},
		{noEffect, "engines take the address that connects for the client's", "http_profile.true_client_ip"},
		{noEffect, nobody, ""},
	},
	"healthmonitor": {
		{closes, "monitors do not verify servers yet, and would take a stranger for one that works",
			"http_monitor.ssl_attributes.pki_profile_ref https_monitor.ssl_attributes.pki_profile_ref"},
		{noEffect, "engines cannot run such monitors yet", "ftp* imap* ldap* pop3* radius_monitor sctp_monitor sip_monitor smtp*"},
	},
	"applicationpersistenceprofile": {
		{noEffect, "cookies are made by the first key that has an aes_key", "http_cookie_persistence_profile.encryption_key http_cookie_persistence_profile.key"},
		{noEffect, "engines do not keep clients to servers by this yet", ""},
	},
	"pool": {
		{closes, "engines do not go by the client's side, and servers would get in plain what shall be encrypted", "use_service_ssl_mode"},
		{noEffect, "the servers of a pool are those in servers", `autoscale_* external_autoscale_groups ipaddrgroup_ref
			networks nsx_securitygroup resolve_pool_by_dns`},
		{noEffect, noRates, "max_conn_rate_per_server"},
		{noEffect, ownAnswers, "fail_action"},
		{noEffect, "Weir serves no sites", "gslb_sp_enabled sp_gs_info"},
		{noEffect, nobody, ""},
	},
	"vsvip": {
		{noEffect, "names are registered by others", "dns_info"},
		{noEffect, noAllocation, ""},
	},
	"virtualservice": {
		{closes, "engines do not apply network security policies yet", "network_security_policy_ref"},
		{closes, "engines have no application firewall yet", "waf_policy_ref"},
		{closes, "engines do not apply HTTP policies yet", "http_policies"},
		{closes, "engines do not apply policies of layer 4 yet", "l4_policies"},
		{closes, "engines do not apply DNS policies yet", "dns_policies topology_policies"},
		{closes, "engines do not run DataScripts yet", "vs_datascripts"},
		{closes, "engines do not apply security policies yet", "security_policy_ref"},
		{closes, "engines do not authenticate clients yet", "sso_policy_ref saml_sp_config oauth_vs_config jwt_config ldap_vs_config"},
		{closes, "engines do not protect against forged requests yet", "csrf_policy_ref"},
		{closes, "engines do not tell bots from people yet", "bot_policy_ref"},
		{closes, "engines do not have requests inspected by others yet", "icap_request_profile_refs sideband_profile"},
		{closes, "engines do not restrict clients to groups of NSX", "nsx_securitygroup"},
		{closes, "engines serve one pool, that of pool_ref, yet", "pool_group_ref service_pool_select"},
		{closes, "engines have one SSL profile for all clients, that of ssl_profile_ref, yet", "ssl_profile_selectors"},
		{closes, "engines do not share a virtual service between others yet", "vh_matches"},
		{noEffect, noLogs, "analytics_policy"},
		{noEffect, noRates, "connections_rate_limit requests_rate_limit"},
		{noEffect, noDNS, "static_dns_records"},
		{noEffect, "names are registered by others", "dns_info"},
		{noEffect, noAllocation, "vip"},
		{noEffect, "engines connect to servers from their own address yet", "snat_ip6_addresses"},
		{noEffect, "engines pass on bodies as they are", "content_rewrite"},
		{noEffect, ownAnswers, "error_page_profile_ref"},
		{noEffect, "engines do not copy requests to others yet", "traffic_clone_profile_ref"},
		{noEffect, "engines keep no sessions of clients", "enable_session"},
		{noEffect, nobody, ""},
	},
	"serviceengine": {
		{noEffect, ownNetwork, ""},
	},
	"systemconfiguration": {
		{refused, "the API does not restrict the addresses of its clients yet", "mgmt_ip_access_control.api_access"},
		{refused, "users log in by what Weir itself knows of them, and nobody could", "admin_auth_configuration.allow_local_user_login"},
		{refused, "the API does not ask its clients for certificates", "portal_configuration.pkiprofile_ref"},
		{noEffect, "Weir has no shell, no SSH server and no SNMP", `mgmt_ip_access_control host_key_algorithm_exclude
			kex_algorithm_exclude rekey_time_limit rekey_volume_limit snmp_configuration linux_configuration`},
		{noEffect, noLogin, "admin_auth_configuration"},
		{noEffect, "Weir sends no mail", "email_configuration"},
		{noEffect, "the machine of the controller says it", "ntp_configuration proxy_configuration docker_mode"},
		{noEffect, "--listen says where the API is", "portal_configuration"},
		{noEffect, noLogs, "controller_analytics_policy"},
		{noEffect, noDNS, "dns_virtualservice_refs"},
		{noEffect, nobody, ""},
	},
	"user": {
		{restricts, "Weir has no roles yet: who is no superuser is let in to read by System-Admin, and kept out of the tenant by any other",
			"access.role_ref"},
		{noEffect, noLogin, ""},
	},
}

// unread are fields that structs have and nothing reads, by name and not by what they are within. Those of what virtual services
// are made of are told of by plan, in its unheeded tables, where that looks at them.
var unread = map[string][]rule{
	"tenant": {
		{noEffect, "Weir does not hold labels against groups of labels", "enforce_label_group"},
	},
	"healthmonitor": {
		{noEffect, "monitors do not sign in yet", "authentication http_monitor.auth_type https_monitor.auth_type"},
		{noEffect, "monitors have TLS settings of their own, and no certificate", `https_monitor.ssl_attributes.ssl_profile_ref
			https_monitor.ssl_attributes.ssl_key_and_certificate_ref`},
	},
	"systemconfiguration": {
		{noEffect, "Weir has no shell and no SSH server", "ssh_ciphers ssh_hmacs portal_configuration.disable_remote_cli_shell"},
		{noEffect, "cryptography is that of the programs, in one mode", "fips_mode common_criteria_mode"},
		{noEffect, "a session ends after 24 h, or 15 min without a request", "portal_configuration.api_force_timeout"},
		{noEffect, "passwords are checked for their length alone, minimum_password_length", "portal_configuration.password_strength_check"},
		{noEffect, "pages of other origins are not let in", "enable_cors"},
	},
}

// closable are the kinds that a virtual service is made of. Of others there is nothing to close.
var closable = strings.Fields(`virtualservice vsvip pool healthmonitor applicationprofile networkprofile sslprofile sslkeyandcertificate
	pkiprofile applicationpersistenceprofile serviceenginegroup`)

// judge finds the rule for a field, or for what it is within.
func judge(kind, field string, guards bool) judgement {
	otherwise := judgement{noEffect, nobody}
	for _, rule := range rules[kind] {
		if rule.fields == "" {
			otherwise = judgement{rule.effect, rule.why}
		}
		if rule.names(field) {
			return judgement{rule.effect, rule.why}
		}
	}
	switch {
	case !guards:
		return otherwise
	case slices.Contains(closable, kind):
		return judgement{closes, unknownGuard}
	}
	return judgement{refused, unknownGuard}
}

func (r rule) names(field string) bool {
	for name := range strings.FieldsSeq(r.fields) {
		beginning, wild := strings.CutSuffix(name, "*")
		if wild && strings.HasPrefix(field, beginning) || field == name || strings.HasPrefix(field, name+".") {
			return true
		}
	}
	return false
}

// ruledInside tells whether a rule names something within a field, so that the field is not judged as a whole.
func ruledInside(kind, field string) bool {
	for _, rule := range rules[kind] {
		for name := range strings.FieldsSeq(rule.fields) {
			if strings.HasPrefix(name, field+".") {
				return true
			}
		}
	}
	return false
}

// noteUnread marks the fields of structs that are told of.
func (k *Kind) noteUnread() {
	for _, rule := range unread[k.Name] {
		for name := range strings.FieldsSeq(rule.fields) {
			f := k.record.at(name)
			if f == nil || f.kept {
				panic("schema: no struct of " + k.Name + " has " + name)
			}
			f.unread = true
		}
	}
}

// at finds a field by its path without places in lists; nil: there is none.
func (r *record) at(path string) *field {
	name, rest, deeper := strings.Cut(path, ".")
	f := r.byName[name]
	if f == nil || !deeper {
		return f
	}
	if f.shape == list {
		f = f.element
	}
	if f.shape != object {
		return nil
	}
	return f.record.at(rest)
}

// judgeUnread finds the rule for a field that a struct has; structs stand in more than one place, and may be read in some.
func judgeUnread(kind, field string) (judgement, bool) {
	for _, rule := range unread[kind] {
		if slices.Contains(strings.Fields(rule.fields), field) {
			return judgement{rule.effect, rule.why}, true
		}
	}
	return judgement{}, false
}
