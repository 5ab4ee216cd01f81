//! What request and response heads share: how far a head has come, and how far it may.

use crate::{Error, head::Limits};

/// Not wrong so far, or all there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parsed<T> {
    Partial,
    Whole(T),
}

/// Whether a head that was `Partial` before `new` came is worth parsing again. Each line feed of a well-formed head ends
/// a field, so the count of tries stays below that of fields however slowly the bytes drip in.
pub fn may_complete(new: &[u8]) -> bool {
    memchr::memchr(b'\n', new).is_some()
}

/// The part of the input that a head may take: parsing only this makes the verdict independent of what lies behind.
pub(super) fn within<'b>(input: &'b [u8], limits: &Limits) -> &'b [u8] {
    &input[..input.len().min(limits.head_bytes)]
}

/// The verdict on a head that is not whole yet.
pub(super) fn incomplete<T>(input: &[u8], limits: &Limits) -> Result<Parsed<T>, Error> {
    if input.len() < limits.head_bytes {
        return Ok(Parsed::Partial);
    }
    Err(if may_complete(input) { Error::HeadTooLarge } else { Error::TargetTooLong })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{head::FieldTable, http1::request};

    const HEAD: &[u8] = b"GET /0123456789 HTTP/1.1\r\nHost: a\r\nX-A: 0123456789\r\n\r\n";

    fn verdict(input: &[u8], limits: Limits) -> Result<Parsed<usize>, Error> {
        request(input, &limits, &mut FieldTable::new()).map(|parsed| match parsed {
            Parsed::Partial => Parsed::Partial,
            Parsed::Whole(request) => Parsed::Whole(request.len),
        })
    }

    #[test]
    fn head_may_be_as_long_as_its_limit() {
        assert_eq!(verdict(HEAD, Limits::new(HEAD.len(), 0, 0)), Ok(Parsed::Whole(HEAD.len())));
        assert_eq!(verdict(HEAD, Limits::new(HEAD.len() - 1, 0, 0)), Err(Error::HeadTooLarge));
    }

    #[test]
    fn head_that_outgrows_its_limit_is_refused_before_it_ends() {
        assert_eq!(verdict(&HEAD[..40], Limits::new(41, 0, 0)), Ok(Parsed::Partial));
        assert_eq!(verdict(&HEAD[..40], Limits::new(40, 0, 0)), Err(Error::HeadTooLarge));
        assert_eq!(verdict(&HEAD[..20], Limits::new(20, 0, 0)), Err(Error::TargetTooLong));
    }

    #[test]
    fn field_may_be_as_long_as_its_limit() {
        let line = b"X-A: 0123456789\r\n".len();
        assert_eq!(verdict(HEAD, Limits::new(0, line, 0)), Ok(Parsed::Whole(HEAD.len())));
        assert_eq!(verdict(HEAD, Limits::new(0, line - 1, 0)), Err(Error::FieldTooLarge));
    }

    #[test]
    fn fields_may_be_as_many_as_their_limit() {
        assert_eq!(verdict(HEAD, Limits::new(0, 0, 2)), Ok(Parsed::Whole(HEAD.len())));
        assert_eq!(verdict(HEAD, Limits::new(0, 0, 1)), Err(Error::TooManyFields));
    }

    #[test]
    fn only_a_line_feed_makes_another_try_worth_it() {
        assert!(may_complete(b"a: b\r\n"));
        assert!(!may_complete(b"a: b\r"));
    }
}
