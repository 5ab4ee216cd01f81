//! Plans damaged in transit, and the corpus of the fuzz target. `WEIR_GEN=write` writes the corpus again.

use std::{fs, path::Path};

use proptest::prelude::*;
use prost::Message;

use crate::{findings::CASES, fuzz::check_plan, plan::*};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/plan");

/// The cases of `findings` with which a fuzzer starts.
const SEEDS: [&str; 8] = [
    "nothing is wrong",
    "two services on one address",
    "a pool that is not there",
    "a key of another certificate",
    "cipher suites and versions that are not implemented",
    "enumerators from the future",
    "servers with an address, a port, a ratio or a name that is none",
    "one SSL profile with a fault in two services",
];

fn write_corpus() {
    fs::create_dir_all(CORPUS).unwrap();
    for (title, change) in CASES.iter().filter(|(title, _)| SEEDS.contains(title)) {
        let mut plan = plan();
        change(&mut plan);
        let file = title.replace(',', "").replace(' ', "_");
        fs::write(Path::new(CORPUS).join(file), plan.encode_to_vec()).unwrap();
    }
}

#[test]
fn corpus_holds() {
    if std::env::var_os("WEIR_GEN").is_some_and(|wish| wish == "write") {
        write_corpus();
    }
    let files = fs::read_dir(CORPUS).unwrap();
    let accepted: Vec<bool> = files.map(|file| check_plan(&fs::read(file.unwrap().path()).unwrap())).collect();
    assert!(accepted.len() >= SEEDS.len());
    assert!(accepted.contains(&true) && accepted.contains(&false));
}

proptest! {
    #[test]
    fn damaged_plan_is_refused_or_served(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = plan().encode_to_vec();
        for (position, byte) in damage {
            let position = position.index(bytes.len());
            bytes[position] = byte;
        }
        check_plan(&bytes);
    }

    #[test]
    fn cut_plan_is_refused_or_served(cut in any::<prop::sample::Index>()) {
        let bytes = plan().encode_to_vec();
        check_plan(&bytes[..cut.index(bytes.len())]);
    }
}
