//! Sources of scripts, as the fuzzer tries them.

#[path = "../../fuzz/src/scripts.rs"]
mod fuzzed;

#[test]
fn corpus_holds_what_must_hold_for_any_source() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/scripts");
    let all = std::fs::read_dir(corpus).expect("a folder").map(|entry| {
        let path = entry.expect("a file").path();
        fuzzed::check(&std::fs::read(&path).expect("a file"))
    });
    assert!(all.filter(|compiled| *compiled).count() >= 11);
}

/// What stands in the sources, cut and put together in other ways.
#[test]
fn cut_and_joined_sources_hold_it_too() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/scripts");
    let mut files: Vec<_> =
        std::fs::read_dir(corpus).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let sources: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).expect("a file")).collect();
    let mut number = 1_u64;
    let mut next = |below: usize| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as usize % below
    };
    for _ in 0..300 {
        let (one, other) = (&sources[next(sources.len())], &sources[next(sources.len())]);
        let mut made = one[..=next(one.len())].to_vec();
        made.extend_from_slice(&other[1 + next(other.len() - 1)..]);
        fuzzed::check(&made);
    }
}
