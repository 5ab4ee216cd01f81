//! Where the session of the handshake that goes on now began: what its tickets keep of that. What it says is the caller's.

use std::{cell::Cell, num::NonZeroU32};

thread_local! {
    /// rustls does not tell the maker of tickets which session it is called for.
    static ORIGIN: Cell<Option<NonZeroU32>> = const { Cell::new(None) };
}

/// Before rustls goes on with a handshake: where its session began, as far as that is known.
pub(crate) fn resume(origin: NonZeroU32) {
    ORIGIN.set(Some(origin));
}

/// Its ticket says this.
pub(crate) fn note(origin: Option<NonZeroU32>) {
    if origin.is_some() {
        ORIGIN.set(origin);
    }
}

/// What its next ticket says; 0: nothing.
pub(crate) fn known() -> u32 {
    ORIGIN.get().map_or(0, NonZeroU32::get)
}

/// Behind that: where it began.
pub(crate) fn suspend() -> Option<NonZeroU32> {
    ORIGIN.take()
}
