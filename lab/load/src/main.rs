//! weir-load, the load generator: see the library.
#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: weir_reactor::Allocator = weir_reactor::Allocator;

fn main() -> std::process::ExitCode {
    weir_load::main()
}
