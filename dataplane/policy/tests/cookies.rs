//! Cookies that name servers, as the fuzzer tries them.

#[path = "../../fuzz/src/cookies.rs"]
mod fuzzed;

use proptest::prelude::*;

#[test]
fn corpus_holds_what_must_hold_for_any_cookies() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/cookies");
    let all = std::fs::read_dir(corpus).expect("a folder").map(|entry| {
        let path = entry.expect("a file").path();
        fuzzed::check(&std::fs::read(&path).expect("a file"))
    });
    let all: Vec<bool> = all.collect();
    assert!(all.len() >= 7 && all.iter().filter(|named| **named).count() >= 3, "{all:?}");
}

proptest! {
    #[test]
    fn any_cookies_name_a_server_by_its_token_alone(text in prop::collection::vec(any::<u8>(), 0..40)) {
        fuzzed::check(&text);
    }

    #[test]
    fn token_in_any_place_names_at_most_its_server(before in "[id=; \"~0]{0,8}", behind in "[id=; \"~0]{0,8}") {
        fuzzed::check(format!("{before}0123456789abcdef0123456789abcdef{behind}").as_bytes());
    }
}
