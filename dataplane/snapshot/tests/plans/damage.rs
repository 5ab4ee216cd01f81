//! Plans that were damaged on their way: refused or served, and never a panic.

use proptest::prelude::*;
use prost::Message;
use weir_api::dataplane::v1::Plan;
use weir_snapshot::Snapshot;

use crate::plan::*;

fn judge(bytes: &[u8]) {
    let Ok(plan) = Plan::decode(bytes) else { return };
    let outcome = Snapshot::build(&plan, None, &worker());
    if let Err(findings) = outcome {
        assert!(!findings.is_empty(), "a refusal says why");
    }
}

proptest! {
    #[test]
    fn damaged_plan_is_refused_or_served(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = plan().encode_to_vec();
        for (position, byte) in damage {
            let position = position.index(bytes.len());
            bytes[position] = byte;
        }
        judge(&bytes);
    }

    #[test]
    fn cut_plan_is_refused_or_served(cut in any::<prop::sample::Index>()) {
        let bytes = plan().encode_to_vec();
        judge(&bytes[..cut.index(bytes.len())]);
    }
}
