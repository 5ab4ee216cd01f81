//! Flow control (RFC 9113 §5.2, §6.9): what an end may still send, and what the other end may still send to it.

use super::{Code, WINDOW_MAX};

/// What may still be sent on a stream or on a connection. A change of SETTINGS may take it below zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendWindow(i64);

impl SendWindow {
    pub fn new(bytes: u32) -> Self {
        Self(bytes.into())
    }

    pub fn bytes(self) -> u32 {
        self.0.max(0) as u32
    }

    pub fn send(&mut self, bytes: u32) {
        self.0 -= i64::from(bytes);
    }

    /// A WINDOW_UPDATE.
    pub fn grow(&mut self, bytes: u32) -> Result<(), Code> {
        if bytes == 0 {
            return Err(Code::ProtocolError);
        }
        self.change(bytes.into())
    }

    /// The peer has changed the initial window by so much (§6.9.2).
    pub fn change(&mut self, bytes: i64) -> Result<(), Code> {
        self.0 += bytes;
        if self.0 > i64::from(WINDOW_MAX) { Err(Code::FlowControlError) } else { Ok(()) }
    }
}

/// What the peer may still send. Bytes come back when they have left this end, in few and large WINDOW_UPDATEs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveWindow {
    left: u32,
    /// Bytes that have left, and that the peer does not know of.
    credit: u32,
    /// The window when nothing is on its way.
    most: u32,
}

impl ReceiveWindow {
    pub fn new(most: u32) -> Self {
        Self { left: most, credit: 0, most }
    }

    /// A peer that does not know the window yet may send so much at first (RFC 9113 §6.9.3).
    pub fn expect(&mut self, bytes: u32) {
        self.left = self.left.max(bytes);
    }

    /// The payload of a DATA frame, padding included.
    pub fn take(&mut self, bytes: u32) -> Result<(), Code> {
        self.left = self.left.checked_sub(bytes).ok_or(Code::FlowControlError)?;
        Ok(())
    }

    /// Bytes have left. Returns what to tell the peer, once that is half of the window.
    pub fn give_back(&mut self, bytes: u32) -> Option<u32> {
        self.credit += bytes;
        if self.credit < self.most.div_ceil(2) {
            return None;
        }
        self.left += self.credit;
        Some(std::mem::take(&mut self.credit))
    }

    /// The same while the window changes to `most`. It does not change before there is something to tell, so that a
    /// sender of little costs nothing.
    pub fn give_back_towards(&mut self, bytes: u32, most: u32) -> Option<u32> {
        if self.credit + bytes < self.most.div_ceil(2) {
            self.credit += bytes;
            return None;
        }
        if most > self.most {
            self.credit += bytes;
            return self.widen(most);
        }
        let kept = bytes.min(self.most - most);
        self.most -= kept;
        self.give_back(bytes - kept)
    }

    /// Makes the window larger. Returns what to tell the peer.
    pub fn widen(&mut self, most: u32) -> Option<u32> {
        let more = most.checked_sub(self.most).filter(|more| *more > 0)? + std::mem::take(&mut self.credit);
        self.most = most;
        self.left += more;
        Some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outgoing_window_may_fall_below_zero() {
        let mut window = SendWindow::new(10);
        window.send(10);
        assert_eq!((window.change(-5), window.bytes()), (Ok(()), 0));
        assert_eq!((window.grow(4), window.bytes()), (Ok(()), 0));
        assert_eq!((window.grow(3), window.bytes()), (Ok(()), 2));
        assert_eq!(window.grow(0), Err(Code::ProtocolError));
        assert_eq!(window.grow(WINDOW_MAX - 2), Ok(()));
        assert_eq!(window.grow(1), Err(Code::FlowControlError));
    }

    #[test]
    fn incoming_window_is_told_of_in_halves() {
        let mut window = ReceiveWindow::new(10);
        assert_eq!(window.take(10), Ok(()));
        assert_eq!((window.give_back(4), window.give_back(1)), (None, Some(5)));
        assert_eq!((window.take(5), window.take(1)), (Ok(()), Err(Code::FlowControlError)));
        assert_eq!((window.give_back(4), window.widen(10), window.widen(20)), (None, None, Some(14)));
        assert_eq!((window.take(14), window.take(1)), (Ok(()), Err(Code::FlowControlError)));
    }

    #[test]
    fn incoming_window_changes_with_what_is_given_back() {
        let mut window = ReceiveWindow::new(10);
        assert_eq!(window.take(10), Ok(()));
        assert_eq!((window.give_back_towards(4, 100), window.give_back_towards(4, 100)), (None, Some(98)));
        assert_eq!((window.take(98), window.take(1)), (Ok(()), Err(Code::FlowControlError)));
        assert_eq!(window.give_back_towards(60, 10), None, "60 of the 90 that are too many");
        assert_eq!((window.give_back_towards(36, 10), window.take(7)), (Some(6), Err(Code::FlowControlError)));
    }

    /// What the peer may send and what this end holds never exceed the window together.
    #[test]
    fn nothing_is_lost_or_won() {
        let mut window = ReceiveWindow::new(1000);
        let (mut peer, mut held) = (1000, 0);
        for step in 0..10_000_u32 {
            let bytes = (step * 7919 % 400).min(peer);
            assert_eq!(window.take(bytes), Ok(()));
            (peer, held) = (peer - bytes, held + bytes);
            let leaves = (step * 104_729 % 500).min(held);
            held -= leaves;
            peer += window.give_back(leaves).unwrap_or(0);
            assert!(peer + held <= 1000);
            assert!(held > 0 || peer > 500, "the peer does not starve");
        }
    }
}
