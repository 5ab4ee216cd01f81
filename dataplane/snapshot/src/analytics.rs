//! Which requests and connections of a virtual service leave a record.

use std::{net::IpAddr, time::Duration};

use weir_api::dataplane::v1;
use weir_policy::TextMatch;
use weir_rules::Addresses;
use weir_telemetry::{
    Cause,
    record::{Class, Rate, Rules, Statuses},
};

use crate::{
    Subnet,
    finding::{Findings, Subject},
    path,
};

const POLICY: &str = "analytics_policy";
const PROFILE: &str = "analytics_profile_ref";
/// A record has a bit for each.
const FILTERS_MAX: usize = 16;
const MILLION: u32 = 1_000_000;

#[derive(PartialEq, Eq, Debug)]
pub struct Analytics {
    pub rules: Rules,
    pub filters: Vec<RecordFilter>,
    /// Records have the header fields of requests and responses.
    pub all_headers: bool,
    /// Records of what some rules of HTTP policies act on have them.
    rules_want_headers: bool,
    pub header_masks: Vec<Mask>,
    pub query_masks: Vec<Mask>,
    /// What the masks hide of the header fields whose values records have as texts of their own. `None`: nothing.
    pub hidden: Option<Hidden>,
    /// Records have texts as they came, and no header fields.
    pub is_plain: bool,
    /// `None`: traces of clients are passed on as they are.
    pub traces: Option<Traces>,
    /// By class. They are those of one worker.
    rates: [Rate; 3],
    /// In seconds since 1970.
    all_until: u64,
}

/// Requests get spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traces {
    /// A request without a trace is sampled if a random number of 32 bits is below.
    pub sampled_below: u64,
}

#[derive(PartialEq, Eq, Debug)]
pub struct RecordFilter {
    /// None: every client.
    clients: Addresses,
    clients_negated: bool,
    /// Of path and query.
    uri: Option<TextMatch>,
    /// In seconds since 1970.
    until: u64,
    pub all_headers: bool,
}

/// What records hide.
#[derive(PartialEq, Eq, Debug)]
pub struct Mask {
    pub name: TextMatch,
    /// Not even the name shows.
    pub removes: bool,
}

/// What stands for a hidden value. `None`: the value shows.
pub type Stand = Option<&'static [u8]>;

/// Header fields whose values records have as texts of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hidden {
    pub host: Stand,
    pub user_agent: Stand,
    pub referer: Stand,
    pub forwarded_for: Stand,
    pub trace_parent: Stand,
    pub content_type: Stand,
    /// Records have it as a number: a mask leaves it out.
    pub grpc_status: Stand,
}

impl Hidden {
    /// `None`: all of them show.
    fn of(masks: &[Mask]) -> Option<Self> {
        let mut scratch = Vec::new();
        let mut hides = false;
        let mut stand = |name: &str| {
            // A mask may tell upper from lower case, and clients write either.
            let names = [name, &name.to_ascii_lowercase()];
            let mut matches =
                |mask: &&Mask| names.iter().any(|name| mask.name.matches_text(name.as_bytes(), &mut scratch));
            let mask = masks.iter().find(|mask| matches(mask));
            hides |= mask.is_some();
            mask.map(|mask| if mask.removes { &b""[..] } else { Mask::HIDDEN })
        };
        let hidden = Self {
            host: stand("Host"),
            user_agent: stand("User-Agent"),
            referer: stand("Referer"),
            forwarded_for: stand("X-Forwarded-For"),
            trace_parent: stand("Traceparent"),
            content_type: stand("Content-Type"),
            grpc_status: stand("Grpc-Status"),
        };
        hides.then_some(hidden)
    }

    /// What a record shows of a value.
    pub fn shown(stand: Stand, value: &[u8]) -> &[u8] {
        stand.filter(|_| !value.is_empty()).unwrap_or(value)
    }
}

impl Mask {
    /// Stands for what is hidden.
    pub const HIDDEN: &[u8] = b"***";
}

impl Analytics {
    pub fn rate(&self, class: Class) -> Rate {
        self.rates[class as usize - 1]
    }

    /// Whether everything is recorded at this time, in seconds since 1970.
    pub fn records_all(&self, unix_s: u64) -> bool {
        unix_s < self.all_until
    }

    /// The filters that hold, by bits. Without a URI, only filters of clients can hold.
    pub fn filters_of(&self, client: IpAddr, uri: Option<&[u8]>, unix_s: u64, scratch: &mut Vec<u8>) -> u16 {
        let holds = |filter: &RecordFilter, scratch: &mut Vec<u8>| {
            let is_client = filter.clients.is_empty() || filter.clients.contains(client) != filter.clients_negated;
            unix_s < filter.until
                && is_client
                && filter.uri.as_ref().is_none_or(|rule| uri.is_some_and(|uri| rule.matches_text(uri, scratch)))
        };
        let bits = self.filters.iter().enumerate().map(|(at, filter)| u16::from(holds(filter, scratch)) << at);
        bits.fold(0, |all, bit| all | bit)
    }

    /// Whether the records of requests for which these filters hold have header fields.
    pub fn wants_headers(&self, filters: u16) -> bool {
        self.all_headers
            || self.filters.iter().enumerate().any(|(at, filter)| filter.all_headers && filters & (1 << at) != 0)
    }

    /// Whether a record of this virtual service can ever have header fields.
    pub fn may_want_headers(&self) -> bool {
        self.all_headers || self.rules_want_headers || self.filters.iter().any(|filter| filter.all_headers)
    }

    /// Whether some rules of HTTP policies have records with header fields.
    pub(crate) fn with_rules(mut self, want_headers: bool) -> Self {
        self.rules_want_headers = want_headers;
        self.is_plain &= !want_headers;
        self
    }
}

/// `None` if it is malformed; the findings tell how.
pub(crate) fn read(
    service: Subject<'_>,
    source: &v1::Analytics,
    workers: u32,
    findings: &mut Findings,
) -> Option<Analytics> {
    let found = findings.errors.len();
    if source.filters.len() > FILTERS_MAX {
        let message = format!("{} filters, of {FILTERS_MAX} that a record can tell apart", source.filters.len());
        findings.error(service, format!("{POLICY}.client_log_filters"), message);
    }
    let filters: Vec<_> = source
        .filters
        .iter()
        .enumerate()
        .filter_map(|(at, filter)| read_filter(service, at, filter, findings))
        .collect();
    let header_masks = masks(service, &source.header_masks, "header_field_rules", findings);
    let query_masks = masks(service, &source.query_masks, "uri_query_field_rules", findings);
    let rules = rules(service, source, findings);
    let per_s = [source.significant_per_s, source.filtered_per_s, source.all_per_s];
    let hidden = Hidden::of(&header_masks);
    let has_headers = source.all_headers || filters.iter().any(|filter| filter.all_headers);
    (findings.errors.len() == found).then(|| Analytics {
        rules,
        is_plain: !has_headers && hidden.is_none() && query_masks.is_empty(),
        filters,
        all_headers: source.all_headers,
        rules_want_headers: false,
        hidden,
        header_masks,
        query_masks,
        traces: source.traces.map(|traces| Traces {
            sampled_below: (u64::from(traces.sampled_per_million.min(MILLION)) << 32) / u64::from(MILLION),
        }),
        rates: per_s.map(|per_s| Rate::of_engine(per_s, workers)),
        all_until: source.all_until_unix_s,
    })
}

fn rules(service: Subject<'_>, source: &v1::Analytics, findings: &mut Findings) -> Rules {
    let nanos = |ms: u32| match ms {
        0 => u64::MAX,
        ms => u64::try_from(Duration::from_millis(ms.into()).as_nanos()).unwrap_or(u64::MAX),
    };
    let not_errors = statuses(service, &source.not_errors, findings);
    let mut causes_not_errors = 0;
    for name in &source.causes_not_errors {
        match Cause::ALL.iter().find(|cause| cause.name() == name) {
            Some(cause) => causes_not_errors |= 1 << *cause as u64,
            None => {
                findings.error(service, PROFILE, format!("{name:?} is no cause of a failure that this engine knows"))
            }
        }
    }
    Rules {
        off: source.significant_off,
        slow_total: nanos(source.slow_total_ms),
        slow_app: nanos(source.slow_app_ms),
        slow_client_rtt: nanos(source.slow_client_rtt_ms),
        slow_server_rtt: nanos(source.slow_server_rtt_ms),
        not_errors,
        causes_not_errors,
    }
}

/// Those that an operator excludes from the errors.
pub(crate) fn statuses(subject: Subject<'_>, ranges: &[v1::StatusRange], findings: &mut Findings) -> Statuses {
    let mut statuses = Statuses::default();
    for range in ranges {
        if !(400..600).contains(&range.first) || !(range.first..600).contains(&range.last) {
            let message = format!("{}-{}: errors have statuses from 400 to 599", range.first, range.last);
            findings.error(subject, format!("{PROFILE}.ranges"), message);
            continue;
        }
        (range.first..=range.last).for_each(|status| statuses.add(status as u16));
    }
    statuses
}

fn read_filter(
    service: Subject<'_>,
    at: usize,
    source: &v1::RecordFilter,
    findings: &mut Findings,
) -> Option<RecordFilter> {
    let field = format!("{POLICY}.client_log_filters[{at}]");
    let subnet = |text: &String| {
        let subnet = Subnet::parse(text);
        if subnet.is_none() {
            findings.error(service, format!("{field}.client_ip"), format!("{text:?} is not a subnet like 10.0.0.0/8"));
        }
        subnet.map(|subnet| subnet.range())
    };
    let clients: Option<Vec<_>> = source.client_subnets.iter().map(subnet).collect();
    let uri = match &source.uri {
        None => Some(None),
        Some(rule) => path::read(service, &format!("{field}.uri"), rule, findings).map(Some),
    };
    Some(RecordFilter {
        clients: Addresses::of(clients?),
        clients_negated: source.clients_negated,
        uri: uri?,
        until: source.until_unix_s,
        all_headers: source.all_headers,
    })
}

fn masks(service: Subject<'_>, sources: &[v1::Mask], field: &str, findings: &mut Findings) -> Vec<Mask> {
    let read = |(at, source): (usize, &v1::Mask)| {
        let field = format!("{PROFILE}.sensitive_log_profile.{field}[{at}]");
        let Some(name) = &source.name else {
            findings.error(service, field, "has no name to compare with");
            return None;
        };
        Some(Mask { name: path::read(service, &field, name, findings)?, removes: source.remove })
    };
    sources.iter().enumerate().filter_map(read).collect()
}
