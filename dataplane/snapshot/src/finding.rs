//! What is wrong with a Plan, in the operator's words: the object, the field, what to do.

pub use weir_api::dataplane::v1::Finding;
