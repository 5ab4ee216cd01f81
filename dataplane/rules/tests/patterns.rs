//! Patterns of policies, and the paths that they are compared with, as the fuzzer tries them.

#[path = "../../fuzz/src/patterns.rs"]
mod fuzzed;

use proptest::prelude::*;

#[test]
fn corpus_holds_what_must_hold_for_any_patterns() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/patterns");
    let all = std::fs::read_dir(corpus).expect("a folder").map(|entry| {
        let path = entry.expect("a file").path();
        fuzzed::check(&std::fs::read(&path).expect("a file"))
    });
    assert!(all.filter(|compared| *compared).count() >= 7);
}

proptest! {
    #[test]
    fn patterns_match_together_where_each_matches_alone(
        how in 0_u8..64,
        path in "/[ab/%2.]{0,8}",
        patterns in prop::collection::vec(r"[ab/%2.*()|^$\[\]+?-]{0,6}", 0..12),
    ) {
        let lines = [vec![path], patterns].concat().join("\n");
        fuzzed::check(&[&[how], lines.as_bytes()].concat());
    }
}
