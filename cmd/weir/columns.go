package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-lb/weir/client"
)

// column is a heading and how to read its cell from an object, which holds its runtime as "runtime".
type column struct {
	heading string
	cell    func(object client.Object) string
}

// related are the objects that the shown ones refer to, by uuid.
type related map[string]client.Object

// kindsBehind says of which other kinds a table of this kind shows something.
func kindsBehind(kind string) []string {
	if kind == "virtualservice" {
		return []string{"vsvip", "pool"}
	}
	return nil
}

func (r related) add(objects []client.Object) {
	for _, object := range objects {
		r[text(object["uuid"])] = object
	}
}

// of finds what a reference such as https://host/api/pool/pool-1#web refers to; nil when it was not fetched.
func (r related) of(reference any) client.Object {
	path, _ := reference.(string)
	path, _, _ = strings.Cut(path, "#")
	return r[path[strings.LastIndexByte(path, '/')+1:]]
}

// columnsOf says what a table of this kind shows.
func columnsOf(kind string, others related, now time.Time) []column {
	name := field("NAME", "name")
	switch kind {
	case "virtualservice":
		return []column{name, {"VIP", others.vip}, {"PORTS", ports}, field("POOL", "pool_ref"), {"SERVERS", others.poolServers},
			operState, {"ENGINES", enginesAssigned}, {"APPLIED", applied}}
	case "pool":
		return []column{name, {"SERVERS", serversUp}, enum("ALGORITHM", "LB_ALGORITHM_", "lb_algorithm"), operState}
	case "serviceengine":
		return []column{name, {"STATE", engineState}, {"SINCE", since(now)}, field("DATA PLANE", "runtime", "dataplane", "state"),
			field("RESTARTS", "runtime", "dataplane", "restarts"), field("GROUP", "se_group_ref")}
	case "serviceenginegroup":
		return []column{name, enum("HA MODE", "HA_MODE_", "ha_mode"), {"ENGINES", between("min_se", "max_se")},
			{"PER VIRTUAL SERVICE", between("min_scaleout_per_vs", "max_scaleout_per_vs")}, field("BUFFER", "buffer_se"), field("CLOUD", "cloud_ref")}
	case "cloud":
		return []column{name, enum("TYPE", "CLOUD_", "vtype")}
	case "healthmonitor":
		return []column{name, enum("TYPE", "HEALTH_MONITOR_", "type"), field("INTERVAL", "send_interval"), field("TIMEOUT", "receive_timeout")}
	case "vsvip":
		return []column{name, {"ADDRESSES", addresses}}
	case "sslkeyandcertificate":
		return []column{name, field("SUBJECT", "certificate", "subject", "common_name"),
			enum("KEY", "SSL_KEY_ALGORITHM_", "key_params", "algorithm"), field("NOT AFTER", "certificate", "not_after")}
	case "sslprofile":
		return []column{name, {"VERSIONS", tlsVersions}}
	case "applicationprofile":
		return []column{name, enum("TYPE", "APPLICATION_PROFILE_TYPE_", "type")}
	case "networkprofile":
		return []column{name, enum("TYPE", "PROTOCOL_TYPE_", "profile", "type")}
	case "user":
		return []column{name, field("FULL NAME", "full_name"), field("SUPERUSER", "is_superuser"), field("ACTIVE", "is_active")}
	default:
		return []column{name, field("UUID", "uuid")}
	}
}

var operState = enum("STATE", "OPER_", "runtime", "oper_status", "state")

func field(heading string, names ...string) column {
	return column{heading, func(object client.Object) string { return text(at(object, names...)) }}
}

// engineState is whether an engine works, and whether an operator lets it.
func engineState(object client.Object) string {
	allowed := strings.TrimPrefix(text(object["enable_state"]), "SE_STATE_")
	if allowed == "" || allowed == "ENABLED" {
		return operState.cell(object)
	}
	return operState.cell(object) + ", " + allowed
}

// between shows a range of numbers by its ends: "1 to 10".
func between(from, to string) func(client.Object) string {
	return func(object client.Object) string { return text(object[from]) + " to " + text(object[to]) }
}

// enum shows an enumeration's value without the prefix that all its values share.
func enum(heading, prefix string, names ...string) column {
	return column{heading, func(object client.Object) string {
		return strings.TrimPrefix(text(at(object, names...)), prefix)
	}}
}

func since(now time.Time) func(client.Object) string {
	return func(object client.Object) string { return age(text(at(object, "runtime", "since")), now) }
}

func ports(object client.Object) string {
	var list []string
	for _, service := range listAt(object, "services") {
		port := text(at(service, "port"))
		if end := text(at(service, "port_range_end")); end != "" && end != port {
			port += "-" + end
		}
		if at(service, "enable_ssl") == true {
			port += "/tls"
		}
		list = append(list, port)
	}
	return strings.Join(list, ", ")
}

func tlsVersions(object client.Object) string {
	var list []string
	for _, version := range listAt(object, "accepted_versions") {
		list = append(list, strings.ReplaceAll(strings.TrimPrefix(text(at(version, "type")), "SSL_VERSION_"), "_", "."))
	}
	return strings.Join(list, ", ")
}

// vip is the addresses of a virtual service, or the name of what holds them.
func (r related) vip(object client.Object) string {
	if vip := r.of(object["vsvip_ref"]); vip != nil {
		return addresses(vip)
	}
	return text(object["vsvip_ref"])
}

func addresses(object client.Object) string {
	var list []string
	for _, vip := range listAt(object, "vip") {
		for _, version := range []string{"ip_address", "ip6_address"} {
			if address := text(at(vip, version, "addr")); address != "" {
				list = append(list, address)
			}
		}
	}
	return strings.Join(list, ", ")
}

func (r related) poolServers(object client.Object) string {
	if pool := r.of(object["pool_ref"]); pool != nil {
		return serversUp(pool)
	}
	return ""
}

func serversUp(object client.Object) string {
	runtime := object["runtime"]
	return fmt.Sprintf("%s of %s up", dash(text(at(runtime, "num_servers_up"))), dash(text(at(runtime, "num_servers"))))
}

func enginesAssigned(object client.Object) string {
	runtime := object["runtime"]
	return fmt.Sprintf("%s of %s", dash(text(at(runtime, "num_se_assigned"))), dash(text(at(runtime, "num_se_requested"))))
}

func applied(object client.Object) string {
	return strings.TrimPrefix(text(at(object, "runtime", "applied", "text")), "applied ")
}
