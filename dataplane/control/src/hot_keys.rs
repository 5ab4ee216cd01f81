//! Hot keys of limits, as the agent hears of them and answers.

use weir_api::dataplane::v1::{KeyDemand, KeyDemands, KeyShares, LimitDemand};
use weir_rate::{Demand, Demands, Share, Tallies, USED_MAX, WHOLE};

/// Keys of one message. The others have their turn in the next ones.
const KEYS_MAX: usize = 2048;

/// `None`: no key is hot.
pub fn demands(tallies: &Tallies, heard: u64, now: u64) -> Option<KeyDemands> {
    let limits: Vec<_> = tallies.demands(now, KEYS_MAX).into_iter().map(limit).collect();
    (!limits.is_empty()).then_some(KeyDemands { heard, limits })
}

fn limit(from: Demands) -> LimitDemand {
    let key = |Demand { tag, asked, used }| KeyDemand { tag, asked, used };
    LimitDemand {
        virtual_service_uuid: from.service.to_string(),
        limit: from.limit,
        engines: from.engines,
        interval_ns: from.interval_nanos,
        keys: from.keys.into_iter().map(key).collect(),
    }
}

pub fn hear(tallies: &Tallies, shares: &KeyShares, now: u64) {
    let most = USED_MAX as i32;
    for limit in &shares.limits {
        let shares = limit.keys.iter().map(|key| Share {
            tag: key.tag,
            share: key.share.min(WHOLE),
            shift: key.shift.clamp(-most, most),
        });
        tallies.hear(&limit.virtual_service_uuid, limit.limit, shares, now);
    }
}
