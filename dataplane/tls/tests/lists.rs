//! Lists of revoked certificates, as the fuzzer tries them.

#[path = "../../fuzz/src/crl.rs"]
mod fuzzed;

#[test]
fn corpus_holds_what_must_hold_for_any_list() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/crl");
    let all = std::fs::read_dir(corpus).expect("a folder").map(|entry| {
        let path = entry.expect("a file").path();
        fuzzed::check(&std::fs::read(&path).expect("a file"))
    });
    let (taken, refused): (Vec<bool>, Vec<bool>) = all.partition(|taken| *taken);
    assert!(taken.len() >= 5 && refused.len() >= 5, "{} are taken, {} are refused", taken.len(), refused.len());
}

#[test]
fn changed_bytes_hold_it_too() {
    let list = include_bytes!("../../fuzz/corpus/crl/middle_revokes");
    for at in 0..list.len() {
        for bit in 0..8 {
            let mut changed = list.to_vec();
            changed[at] ^= 1 << bit;
            fuzzed::check(&changed);
        }
    }
}
