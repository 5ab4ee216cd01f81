package main

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/client"
)

// columnsOf says what a table of this kind shows.
func columnsOf(kind string) []column {
	name := field("NAME", "name")
	switch kind {
	case "virtualservice":
		return []column{name, field("VIP", "vsvip_ref"), {"PORTS", ports}, field("POOL", "pool_ref"), operState,
			state("APPLIED", "applied", "text")}
	case "pool":
		return []column{name, {"SERVERS", serversUp}, enum("ALGORITHM", "LB_ALGORITHM_", "lb_algorithm"), operState}
	case "serviceengine":
		return []column{name, operState, state("DATA PLANE", "dataplane", "state"), state("RESTARTS", "dataplane", "restarts"),
			field("GROUP", "se_group_ref")}
	case "healthmonitor":
		return []column{name, enum("TYPE", "HEALTH_MONITOR_", "type"), field("INTERVAL", "send_interval"), field("TIMEOUT", "receive_timeout")}
	case "vsvip":
		return []column{name, {"ADDRESSES", addresses}}
	case "sslkeyandcertificate":
		return []column{name, field("SUBJECT", "certificate", "subject", "common_name"),
			enum("KEY", "SSL_KEY_ALGORITHM_", "key_params", "algorithm"), field("NOT AFTER", "certificate", "not_after")}
	case "applicationprofile":
		return []column{name, enum("TYPE", "APPLICATION_PROFILE_TYPE_", "type")}
	case "networkprofile":
		return []column{name, enum("TYPE", "PROTOCOL_TYPE_", "profile", "type")}
	default:
		return []column{name, field("UUID", "uuid")}
	}
}

var operState = column{"STATE", func(_, runtime client.Object) string {
	return strings.TrimPrefix(text(at(runtime, "oper_status", "state")), "OPER_")
}}

func field(heading string, names ...string) column {
	return column{heading, func(object, _ client.Object) string { return text(at(object, names...)) }}
}

func state(heading string, names ...string) column {
	return column{heading, func(_, runtime client.Object) string { return text(at(runtime, names...)) }}
}

// enum shows an enumeration's value without the prefix that all its values share.
func enum(heading, prefix string, names ...string) column {
	return column{heading, func(object, _ client.Object) string {
		return strings.TrimPrefix(text(at(object, names...)), prefix)
	}}
}

func ports(object, _ client.Object) string {
	services, _ := object["services"].([]any)
	var list []string
	for _, service := range services {
		port := text(at(service, "port"))
		if at(service, "enable_ssl") == true {
			port += "/tls"
		}
		list = append(list, port)
	}
	return strings.Join(list, ", ")
}

func addresses(object, _ client.Object) string {
	vips, _ := object["vip"].([]any)
	var list []string
	for _, vip := range vips {
		for _, version := range []string{"ip_address", "ip6_address"} {
			if address := text(at(vip, version, "addr")); address != "" {
				list = append(list, address)
			}
		}
	}
	return strings.Join(list, ", ")
}

func serversUp(_, runtime client.Object) string {
	return fmt.Sprintf("%s of %s up", dash(text(at(runtime, "num_servers_up"))), dash(text(at(runtime, "num_servers"))))
}
