//! The result for people and for programs.

use std::{fmt::Write, time::SystemTime};

use hdrhistogram::Histogram;

use crate::{flags::Flags, tally::Tally, timeline::Timeline};

const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

pub fn table(tally: &Tally, flags: &Flags) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<14}{value}");
    };
    line("requests", format!("{} in {:.2} s, {:.0}/s", tally.requests, seconds(tally), tps(tally)));
    line("latency", latencies(&tally.latency));
    if flags.rate.is_some() {
        line("uncorrected", latencies(&tally.uncorrected));
        if tally.missed > 0 {
            line("missed", format!("{} were due and found all {} connections busy", tally.missed, flags.connections));
        }
    }
    if flags.idle_connections > 0 {
        line("idle", format!("{} of {} connections held to the end", tally.idle_held, flags.idle_connections));
        if flags.waiting_streams > 0 {
            let all = flags.idle_connections * flags.waiting_streams;
            line("waiting", format!("{} of {all} streams held to the end", tally.waiting_held));
        }
    }
    line("received", format!("{:.1} MB", tally.bytes as f64 / 1e6));
    if let Some(first) = &tally.tls.first {
        let (full, resumed) = (tally.tls.full, tally.tls.resumed);
        line(
            "tls",
            format!(
                "{}, {}, {}; {full} full handshakes, {resumed} resumed",
                first.version.name(),
                first.cipher_suite,
                first.group.unwrap_or("no key exchange")
            ),
        );
    }
    let errors: Vec<_> =
        tally.errors.iter().filter(|(_, count)| **count > 0).map(|(name, n)| format!("{name} {n}")).collect();
    line("errors", if errors.is_empty() { "0".into() } else { errors.join(", ") });
    let all: u64 = tally.per_value.values().sum();
    for (value, count) in &tally.per_value {
        line("", format!("{value}: {count} ({:.1} %)", *count as f64 * 100.0 / all as f64));
    }
    text
}

pub fn json(tally: &Tally, flags: &Flags) -> String {
    let errors = object(tally.errors.iter().map(|(name, count)| (name.as_str(), count.to_string())));
    let per_value = object(tally.per_value.iter().map(|(value, count)| (value.as_str(), count.to_string())));
    let mut pairs = vec![
        ("seconds", format!("{:.6}", seconds(tally))),
        ("requests", tally.requests.to_string()),
        ("tps", format!("{:.3}", tps(tally))),
        ("errors", errors),
        ("error_total", tally.error_total().to_string()),
        ("missed", tally.missed.to_string()),
    ];
    let names = ["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us"];
    let quantiles = |histogram: &Histogram<u64>| -> Vec<_> {
        let values = QUANTILES.iter().map(|(_, quantile)| histogram.value_at_quantile(*quantile).to_string());
        names.into_iter().zip(values).collect()
    };
    pairs.extend(quantiles(&tally.latency));
    if flags.rate.is_some() {
        pairs.push(("uncorrected", object(quantiles(&tally.uncorrected).into_iter())));
    }
    pairs.push(("bytes", tally.bytes.to_string()));
    pairs.push(("idle_held", tally.idle_held.to_string()));
    pairs.push(("waiting_held", tally.waiting_held.to_string()));
    pairs.push(("tls", tls(tally)));
    pairs.push(("per_value", per_value));
    if let Some(timeline) = &tally.timeline {
        pairs.push(("timeline", when(timeline)));
    }
    object(pairs.into_iter()) + "\n"
}

/// `null` without a handshake.
fn tls(tally: &Tally) -> String {
    let Some(first) = &tally.tls.first else { return "null".into() };
    let pairs = [
        ("version", quoted(first.version.name())),
        ("cipher", quoted(first.cipher_suite)),
        ("group", first.group.map_or("null".into(), quoted)),
        ("full_handshakes", tally.tls.full.to_string()),
        ("resumed", tally.tls.resumed.to_string()),
    ];
    object(pairs.into_iter())
}

/// What happened when, in seconds and microseconds from the begin, which itself is in microseconds of Unix time.
fn when(timeline: &Timeline) -> String {
    let begun = timeline.begun_at.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    let seconds = timeline.seconds.iter().map(|second| {
        let per_value = second.per_value.iter().map(|(value, count)| (value.as_str(), count.to_string()));
        object(
            [
                ("answers", second.answers.to_string()),
                ("failures", second.failures.to_string()),
                ("per_value", object(per_value)),
            ]
            .into_iter(),
        )
    });
    let failures = timeline.failures.iter().map(|failure| {
        object(
            [
                ("begun_us", failure.begun.as_micros().to_string()),
                ("failed_us", failure.failed.as_micros().to_string()),
                ("cause", quoted(&failure.cause)),
                ("value", failure.value.as_deref().map_or("null".into(), quoted)),
            ]
            .into_iter(),
        )
    });
    let first = timeline.first.iter().map(|(value, since)| (value.as_str(), since.as_micros().to_string()));
    object(
        [
            ("begun_unix_us", begun.as_micros().to_string()),
            ("seconds", list(seconds)),
            ("failures", list(failures)),
            ("first_us", object(first)),
        ]
        .into_iter(),
    )
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn object<'a>(pairs: impl Iterator<Item = (&'a str, String)>) -> String {
    let pairs: Vec<_> = pairs.map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted += &format!("\\u{:04x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn latencies(histogram: &Histogram<u64>) -> String {
    let each = QUANTILES.iter().map(|(name, quantile)| {
        let us = histogram.value_at_quantile(*quantile);
        if us < 10_000 { format!("{name} {us} µs") } else { format!("{name} {:.1} ms", us as f64 / 1000.0) }
    });
    each.collect::<Vec<_>>().join(", ")
}

fn seconds(tally: &Tally) -> f64 {
    tally.span.as_secs_f64()
}

fn tps(tally: &Tally) -> f64 {
    if tally.span.is_zero() { 0.0 } else { tally.requests as f64 / seconds(tally) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_proxy::io::Time;

    use super::*;
    use crate::tally::Cause;

    fn at_us(us: u64) -> Time {
        Time::default() + Duration::from_micros(us)
    }

    fn tally() -> Tally {
        let mut tally = Tally::new();
        tally.span = Duration::from_secs(2);
        for us in [100, 200, 300, 20_000] {
            tally.answered(at_us(20_000), at_us(20_000 - us), at_us(20_000 - 100), None);
        }
        tally.failed(Cause::Timeout, at_us(0), at_us(0), None);
        tally.value(b"a\"b\\c\n");
        tally
    }

    #[test]
    fn prints_one_json_object() {
        let expected = concat!(
            r#"{"seconds":2.000000,"requests":4,"tps":2.000,"errors":{"bad_response":0,"connect":0,"local":0,"#,
            r#""reset":0,"short_body":0,"status":0,"timeout":1,"tls":0},"error_total":1,"missed":0,"p50_us":200,"#,
            r#""p90_us":20015,"p95_us":20015,"p99_us":20015,"p999_us":20015,"max_us":20015,"bytes":0,"idle_held":0,"#,
            r#""waiting_held":0,"tls":null,"#,
            r#""per_value":{"a\"b\\c\u000a":1}}"#,
            "\n"
        );
        assert_eq!(json(&tally(), &Flags::default()), expected);
    }

    #[test]
    fn prints_when_things_happened() {
        let mut timeline = Timeline::default();
        timeline.begin(at_us(0));
        timeline.begun_at = Some(SystemTime::UNIX_EPOCH + Duration::from_micros(7));
        timeline.answered(at_us(300), Some("a"));
        timeline.failed(at_us(900), at_us(800), "reset".into(), Some("a"));
        timeline.failed(at_us(1_000_000), at_us(950), "connect".into(), None);
        let expected = concat!(
            r#"{"begun_unix_us":7,"seconds":[{"answers":1,"failures":1,"per_value":{"a":1}},"#,
            r#"{"answers":0,"failures":1,"per_value":{}}],"#,
            r#""failures":[{"begun_us":800,"failed_us":900,"cause":"reset","value":"a"},"#,
            r#"{"begun_us":950,"failed_us":1000000,"cause":"connect","value":null}],"first_us":{"a":300}}"#
        );
        assert_eq!(when(&timeline), expected);
    }

    #[test]
    fn prints_uncorrected_latency_beside_with_a_rate() {
        let flags = Flags { rate: Some(2.0), ..Flags::default() };
        assert!(json(&tally(), &flags).contains(r#""uncorrected":{"p50_us":100,"#));
        let text = table(&tally(), &flags);
        assert!(text.contains("requests      4 in 2.00 s, 2/s\n"), "{text}");
        assert!(text.contains("p99 20.0 ms") && text.contains("errors        timeout 1\n"), "{text}");
    }
}
