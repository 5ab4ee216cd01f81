//! What a virtual service does to the content of responses.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    slice,
    sync::Arc,
    time::Duration,
};

use weir_api::dataplane::v1;
use weir_cache::{CacheProfile, Invalidations, Purge, Purges, Settings, Share};
use weir_coding::{By, Compression, Devices, Filter, Level, MediaTypes, Rewrite};
use weir_rules::Edit;

use crate::{
    Worker,
    finding::{Findings, Subject},
    path,
    policies::addresses,
    rewriting,
};

#[derive(Debug)]
pub struct Content {
    /// `None`: nothing is rewritten.
    pub rewrite: Option<Arc<Rewrite>>,
    /// `None`: nothing is compressed.
    pub compression: Option<Compression>,
    /// `None`: nothing is stored.
    pub cached: Option<Cached>,
}

impl Content {
    /// What becomes of the head of each request.
    pub fn edits(&self) -> &[Edit] {
        match &self.rewrite {
            Some(rewrite) => rewrite.edits(),
            None => self.compression.as_ref().and_then(Compression::edit).map_or(&[], slice::from_ref),
        }
    }
}

/// What is stored of a virtual service.
#[derive(Debug)]
pub struct Cached {
    pub profile: CacheProfile,
    /// Of all workers.
    pub invalidations: Arc<Invalidations>,
    pub purges: Purges,
    /// Names the virtual service, these settings and the last purge of all: what was stored under others is not found.
    pub tag: String,
    /// What all that is stored may need; `None`: as much as there is.
    pub share: Option<Share>,
}

const CACHE: &str = "application_profile_ref.http_profile.cache_config";
const REWRITE: &str = "content_rewrite";
const COMPRESSION: &str = "application_profile_ref.http_profile.compression_profile";

/// What a virtual service was before.
pub(crate) struct Before<'b> {
    pub source: &'b v1::VirtualService,
    pub content: Option<&'b Content>,
}

/// The outer `None`: it cannot be used, and the findings say why. The inner: content stays as it is.
pub(crate) fn read(
    service: Subject<'_>,
    source: &v1::VirtualService,
    before: Option<Before<'_>>,
    worker: &Worker,
    findings: &mut Findings,
) -> Option<Option<Content>> {
    let Some(http) = &source.http else { return Some(None) };
    let before = before.and_then(|Before { source, content }| {
        source.http.as_ref()?.content_rewrite.as_ref().zip(content?.rewrite.as_ref())
    });
    let rewrite = match &http.content_rewrite {
        None => None,
        Some(from) => rewriting::read(service, from, before, findings)?,
    };
    let compression = match &http.compression {
        None => None,
        Some(from) => Some(compression(service, from, findings)?),
    };
    let cached = match &http.cache {
        None => None,
        Some(from) => Some(cached(service, from, rewrite.is_some(), worker, findings)?),
    };
    let is_something = rewrite.is_some() || compression.is_some() || cached.is_some();
    Some(is_something.then_some(Content { rewrite, compression, cached }))
}

fn cached(
    service: Subject<'_>,
    from: &v1::Cache,
    is_rewritten: bool,
    worker: &Worker,
    findings: &mut Findings,
) -> Option<Cached> {
    let types = |types: &[String]| MediaTypes::of(types.iter().map(String::as_str));
    let blocked_paths = match &from.blocked_paths {
        None => None,
        Some(paths) => Some(path::read(service, &format!("{CACHE}.uri_non_cacheable"), paths, findings)?),
    };
    if from.max_bytes < from.min_bytes {
        let message = format!("{} is less than min_object_size", from.max_bytes);
        findings.error(service, format!("{CACHE}.max_object_size"), message);
        return None;
    }
    let mut hasher = DefaultHasher::new();
    let settings = v1::Cache { purges: Vec::new(), max_stored_bytes: 0, ..from.clone() };
    format!("{settings:?}").hash(&mut hasher);
    if is_rewritten {
        // Servers may have encoded what was stored before.
        REWRITE.hash(&mut hasher);
    }
    let profile = CacheProfile::new(Settings {
        min_bytes: from.min_bytes.into(),
        max_bytes: from.max_bytes.into(),
        default_expire_s: from.default_expire_s.into(),
        heuristic: from.heuristic_expire,
        aggressive: from.aggressive,
        queries: from.queries,
        ignores_request_directives: from.ignore_request_directives,
        age_field: from.age_field,
        date_field: from.date_field,
        x_cache_field: from.x_cache_field,
        types: types(&from.types),
        blocked_types: types(&from.blocked_types),
        blocked_paths,
    });
    let tag = format!("{} {:x} ", service.uuid, hasher.finish());
    let purge = |from: &v1::Purge| Purge {
        number: from.number,
        host: from.host.as_bytes().into(),
        path: from.path.as_bytes().into(),
        prefix: from.prefix,
    };
    let purges = Purges::new(from.purges.iter().map(purge).collect());
    let share = (from.max_stored_bytes > 0).then(|| {
        let bytes = from.max_stored_bytes.div_ceil(u64::from(worker.workers.max(1)));
        Share::of(service.uuid, usize::try_from(bytes).unwrap_or(usize::MAX))
    });
    Some(Cached { profile, invalidations: worker.invalidations.clone(), purges, tag, share })
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
