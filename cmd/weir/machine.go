package main

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema/column"
)

// machineOf has a row for what the machine of an engine does. It is empty if the engine has told nothing.
func machineOf(host map[string]any) table {
	if host == nil {
		return nil
	}
	number := func(field string) float64 { value, _ := host[field].(float64); return value }
	of := func(all, free float64) string {
		if all == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f %% of %s", 100*(all-free)/all, bytesText(all))
	}
	rows := table{{"MACHINE", "CPU %", "MEMORY IN USE", "DISK IN USE", "AGENT'S MEMORY",
		"LISTEN OVERFLOWS", "SYN COOKIES", "RETRANSMITS"}}
	return append(rows, []string{"", decimal(host, 1, "cpu_percent"),
		of(number("memory_bytes"), number("memory_available_bytes")),
		of(number("disk_bytes"), number("disk_free_bytes")),
		bytesText(number("agent_rss_bytes")), column.Text(host["listen_overflows"]),
		column.Text(host["syn_cookies"]), retransmits(host)})
}

// retransmits is the share of segments of TCP that the machine sent again, since it started.
func retransmits(host map[string]any) string {
	first, _ := host["tcp_sent_segments"].(float64)
	again, _ := host["tcp_retransmitted_segments"].(float64)
	if first == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100*again/first)
}

// interfacesOf has a row for each network interface of the machine. It is empty if none is known.
func interfacesOf(host map[string]any) table {
	return rowsOf(host["interfaces"], []string{"INTERFACE", "RECEIVED PER SECOND", "SENT PER SECOND",
		"PACKETS RECEIVED PER SECOND", "SENT PER SECOND", "DROPPED", "ERRORS"}, func(row map[string]any) []string {
		rate := func(field string) string {
			value, known := column.At(row, "per_second", field).(float64)
			if !known {
				return ""
			}
			return bytesText(value)
		}
		sum := func(one, other string) string {
			a, _ := row[one].(float64)
			b, _ := row[other].(float64)
			return fmt.Sprintf("%.0f", a+b)
		}
		return []string{column.Text(row["name"]), rate("received_bytes"), rate("sent_bytes"),
			decimal(row, 0, "per_second", "received_packets"), decimal(row, 0, "per_second", "sent_packets"),
			sum("received_dropped", "sent_dropped"), sum("received_errors", "sent_errors")}
	})
}

// bytesText is a number of bytes with three digits.
func bytesText(bytes float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if bytes < 1000 || unit == "TiB" {
			if unit == "B" || bytes >= 100 {
				return fmt.Sprintf("%.0f %s", bytes, unit)
			}
			return fmt.Sprintf("%.1f %s", bytes, unit)
		}
		bytes /= 1024
	}
	return ""
}
