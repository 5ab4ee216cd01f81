//! Generates the Rust side of the contract and compares it with what is checked in.
//! `WEIR_GEN=write cargo test -p weir-api` (`make gen`) writes it instead.

use std::{env, fs, path::Path};

const GENERATED: &str = "weir.dataplane.v1.rs";

#[test]
fn generated_code_is_what_the_contract_says() {
    let api = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fresh = generate(api);
    let kept = api.join("gen/rust").join(GENERATED);
    if env::var("WEIR_GEN").is_ok_and(|mode| mode == "write") {
        fs::write(&kept, &fresh).expect("write generated code");
        return;
    }
    let checked_in = fs::read_to_string(&kept).expect("read generated code");
    assert!(checked_in == fresh, "{} is not what api/dataplane/v1 says; run `make gen`", kept.display());
}

fn generate(api: &Path) -> String {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    prost_build::Config::new()
        .out_dir(out)
        .compile_protos(&[api.join("dataplane/v1/dataplane.proto")], &[api])
        .expect("compile api/dataplane/v1/dataplane.proto (needs protoc)");
    fs::read_to_string(out.join(GENERATED)).expect("read fresh generation")
}
