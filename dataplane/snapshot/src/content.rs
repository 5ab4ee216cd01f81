//! What a virtual service does to the content of responses.

use std::time::Duration;

use weir_api::dataplane::v1;
use weir_coding::{By, Compression, Devices, Filter, Level, MediaTypes};

use crate::{
    finding::{Findings, Subject},
    policies::addresses,
};

#[derive(Debug)]
pub struct Content {
    /// `None`: nothing is compressed.
    pub compression: Option<Compression>,
}

const COMPRESSION: &str = "application_profile_ref.http_profile.compression_profile";

/// The outer `None`: it cannot be used, and the findings say why. The inner: content stays as it is.
pub(crate) fn read(
    service: Subject<'_>,
    source: &v1::VirtualService,
    findings: &mut Findings,
) -> Option<Option<Content>> {
    let Some(from) = source.http.as_ref().and_then(|http| http.compression.as_ref()) else { return Some(None) };
    Some(Some(Content { compression: Some(compression(service, from, findings)?) }))
}

fn compression(service: Subject<'_>, from: &v1::Compression, findings: &mut Findings) -> Option<Compression> {
    let found = findings.errors.len();
    let types = MediaTypes::of(from.content_types.iter().map(String::as_str));
    if types.is_empty() {
        findings.warning(service, format!("{COMPRESSION}.compressible_content_ref"), "is empty: nothing is compressed");
    }
    let by = match &from.by_round_trip {
        Some(levels) => By::RoundTrip {
            low: Duration::from_millis(levels.low_ms.into()),
            high: Duration::from_millis(levels.high_ms.into()),
            mobile: devices(service, "mobile_str_ref", &levels.mobile, findings),
        },
        None => {
            let filter = |(at, from)| filter(service, at, from, findings);
            By::Filters(from.filters.iter().enumerate().filter_map(filter).collect())
        }
    };
    let level = |field: &str, level: u32, findings: &mut Findings| match u8::try_from(level) {
        Ok(level @ 1..=9) => level,
        _ => {
            findings.error(service, format!("{COMPRESSION}.{field}"), format!("{level} is no level; choose 1 to 9"));
            1
        }
    };
    let level_normal = level("level_normal", from.level_normal, findings);
    let level_aggressive = level("level_aggressive", from.level_aggressive, findings);
    let mut compression = Compression::new(types, by, from.remove_accept_encoding);
    compression.min_bytes = from.min_bytes.into();
    (compression.level_normal, compression.level_aggressive) = (level_normal, level_aggressive);
    (findings.errors.len() == found).then_some(compression)
}

fn filter(service: Subject<'_>, at: usize, from: &v1::CompressionFilter, findings: &mut Findings) -> Option<Filter> {
    let field = format!("filter[{at}].");
    let level = match v1::CompressionLevel::try_from(from.level) {
        Ok(v1::CompressionLevel::None) => Level::None,
        Ok(v1::CompressionLevel::Normal) => Level::Normal,
        Ok(v1::CompressionLevel::Aggressive) => Level::Aggressive,
        Err(_) => {
            let message = "is unknown to this engine; upgrade the engine";
            findings.error(service, format!("{COMPRESSION}.{field}level"), message);
            return None;
        }
    };
    let within = format!("{COMPRESSION}.{field}ip_addr_");
    let clients = match from.compares_clients {
        true => Some(addresses(service, &within, &from.subnets, &from.ranges, findings)?),
        false => None,
    };
    let compared =
        from.compares_devices.then(|| devices(service, &format!("{field}user_agent"), &from.devices, findings));
    Some(Filter { level, negated: from.negated, clients, devices: compared })
}

fn devices(service: Subject<'_>, field: &str, texts: &[String], findings: &mut Findings) -> Devices {
    Devices::of(texts).unwrap_or_else(|| {
        findings.error(service, format!("{COMPRESSION}.{field}"), "has too many texts; give fewer");
        Devices::default()
    })
}
