package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
)

// warnings says what is wrong, a line each: what is down and why, which engine refused a change, and what of the
// configuration has no effect.
func (o overview) warnings() []string {
	var lines []string
	for _, engine := range o.Engines {
		lines = append(lines, whyNotUp("engine", engine)...)
	}
	for _, service := range o.VirtualServices {
		lines = append(lines, whyNotUp("virtual service", service)...)
		lines = append(lines, notAsItShallBe("virtual service", service)...)
		lines = append(lines, slowServers(service)...)
		lines = append(lines, o.notServedOn(service)...)
	}
	for _, pool := range o.Pools {
		lines = append(lines, notAsItShallBe("pool", pool)...)
	}
	refused := o.refusals()
	return slices.Concat(lines, refused, o.findings())
}

func whyNotUp(what string, object client.Object) []string {
	status := column.At(object, "runtime", "oper_status")
	state := strings.TrimPrefix(column.Text(column.At(status, "state")), "OPER_")
	if state == "UP" {
		return nil
	}
	line := fmt.Sprintf("%s %s is not up (%s)", what, column.Text(object["name"]), column.Dash(state))
	if reasons := column.Texts(column.List(status, "reason")); len(reasons) > 0 {
		line += ": " + strings.Join(reasons, "; ")
	}
	return []string{line}
}

// notServedOn tells of the engines that work and yet do not serve a virtual service that others serve: of those that do
// not work it is told already.
func (o overview) notServedOn(service client.Object) []string {
	if column.Text(column.At(service, "runtime", "oper_status", "state")) != "OPER_UP" {
		return nil
	}
	var lines []string
	for _, seat := range column.List(service, "runtime", "service_engine") {
		works := slices.ContainsFunc(o.Engines, func(engine client.Object) bool {
			return engine["uuid"] == column.At(seat, "uuid") &&
				column.Text(column.At(engine, "runtime", "oper_status", "state")) == "OPER_UP"
		})
		if reasons := column.Texts(column.List(seat, "oper_status", "reason")); works && len(reasons) > 0 {
			lines = append(lines, fmt.Sprintf("virtual service %s is not served on %s, which %s",
				column.Text(service["name"]), column.Text(column.At(seat, "name")),
				strings.Join(reasons, "; ")))
		}
	}
	return lines
}

// notAsItShallBe tells of what is up all the same: a pool with servers that are down, a virtual service that waits for
// engines. Of a pool that is not up, its virtual service tells.
func notAsItShallBe(what string, object client.Object) []string {
	status := column.At(object, "runtime", "oper_status")
	if column.Text(column.At(status, "state")) != "OPER_UP" {
		return nil
	}
	var lines []string
	for _, reason := range column.Texts(column.List(status, "reason")) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", what, column.Text(object["name"]), reason))
	}
	return lines
}

// slowServers tells of the servers of a virtual service that need far longer for their answers than the others.
func slowServers(service client.Object) []string {
	var lines []string
	for _, server := range column.List(service, "runtime", "slow_servers") {
		line := fmt.Sprintf("virtual service %s: server %s needs %s ms (mean) for an answer, the others %s ms",
			column.Text(service["name"]), column.Text(column.At(server, "server_id")),
			column.Text(column.At(server, "app_response_mean_ms")), column.Text(column.At(server, "others_mean_ms")))
		if since, err := time.Parse(time.RFC3339, column.Text(column.At(server, "since"))); err == nil {
			line += ", since " + since.Local().Format(time.TimeOnly)
		}
		lines = append(lines, line)
	}
	return lines
}

// refusals are the changes that engines did not take.
func (o overview) refusals() []string {
	var lines []string
	for _, engine := range o.Engines {
		for _, finding := range column.List(engine, "runtime", "refusal", "errors") {
			lines = append(lines, fmt.Sprintf("engine %s refused revision %s and goes on with the one before: %s",
				column.Text(engine["name"]),
				column.Text(column.At(engine, "runtime", "refusal", "revision")), findingText(finding)))
		}
	}
	return lines
}

// findings are what has no effect or cannot be served, once each, with the virtual services that it concerns. What an
// engine refused is told by refusals.
func (o overview) findings() []string {
	refused := map[string]bool{}
	for _, engine := range o.Engines {
		for _, finding := range column.List(engine, "runtime", "refusal", "errors") {
			refused[findingText(finding)] = true
		}
	}
	var order []string
	concerned := map[string][]string{}
	for _, service := range o.VirtualServices {
		for _, finding := range column.List(service, "runtime", "warnings") {
			line, name := findingText(finding), column.Text(service["name"])
			if refused[line] || slices.Contains(concerned[line], name) {
				continue
			}
			if concerned[line] == nil {
				order = append(order, line)
			}
			concerned[line] = append(concerned[line], name)
		}
	}
	for i, line := range order {
		order[i] = fmt.Sprintf("%s (virtual service %s)", line, strings.Join(concerned[line], ", "))
	}
	return order
}

// findingText is "sslprofile System-Standard: accepted_ciphers: …".
func findingText(finding any) string {
	parts := []string{strings.TrimSpace(column.Text(column.At(finding, "kind")) + " " +
		column.Text(column.At(finding, "name")))}
	parts = append(parts, column.Texts([]any{column.At(finding, "field"), column.At(finding, "message")})...)
	return strings.Join(parts, ": ")
}
