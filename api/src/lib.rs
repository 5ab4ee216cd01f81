//! The contract between an agent and its data plane, as Rust types: generated from `api/dataplane/v1`, checked in under
//! `api/gen/rust`, compared with a fresh generation by `tests/drift.rs`. Nothing is written here by hand.

pub mod dataplane {
    #[allow(clippy::all)]
    pub mod v1 {
        include!("../gen/rust/weir.dataplane.v1.rs");
    }
}
