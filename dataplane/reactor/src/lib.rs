//! The epoll driver: the only place of the data plane that makes system calls. It implements `weir_proxy::io::Io` over
//! TCP and UDP sockets for one worker thread. It also holds the few system calls that other crates need (descriptor passing in
//! [`unix`], the process itself in [`process`], memory in [`Allocator`]).
//!
//! A loop drives it: [`Driver::poll`], then the handler, then [`Driver::flush`]. It knows nothing of HTTP or TLS, and
//! makes no decisions. It must never block outside `poll`, and never let one connection keep others waiting.

mod accept;
mod allocator;
mod connect;
mod datagrams;
mod driver;
mod input;
mod lasting;
mod lending;
mod limited;
mod listener;
mod output;
mod pipe;
mod poller;
pub mod process;
mod reactor;
mod registration;
mod relay;
mod round_trip;
mod slot;
mod socket;
mod spread;
mod table;
mod timers;
mod tokens;
pub mod unix;

pub use allocator::Allocator;
pub use driver::{Driver, Limits};
pub use listener::SocketOptions;
pub use poller::Waker;
pub use reactor::{Reactor, process_nanos};
pub use socket::check_client_addresses;

/// What one read takes at most into one block.
pub const READ_BYTES: usize = 16 * 1024;

/// The block length of the buffer pool: the bytes of one read, and the overhead of a TLS record, so that a full read is
/// sealed into one record in one block. Without the room for the overhead each read led to a second record of a few
/// bytes, and 512 KB over TLS cost a tenth more.
pub const BLOCK_BYTES: usize = READ_BYTES + 64;
