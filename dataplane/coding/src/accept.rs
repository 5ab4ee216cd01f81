//! What Accept-Encoding says (RFC 9110 §12.5.3).

use crate::coding::Coding;

/// A weight of RFC 9110 §12.4.2, in thousandths.
type Weight = u16;

const FULL: Weight = 1000;

/// Codings, the best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Codings([Option<Coding>; Coding::ALL.len()]);

impl Codings {
    pub fn iter(self) -> impl Iterator<Item = Coding> {
        self.0.into_iter().flatten()
    }

    pub fn first(self) -> Option<Coding> {
        self.0[0]
    }

    pub fn is_empty(self) -> bool {
        self.first().is_none()
    }
}

impl From<Coding> for Codings {
    fn from(only: Coding) -> Self {
        Self([Some(only), None, None])
    }
}

/// The codings that a client takes, given the values of its Accept-Encoding fields. None: it wants the content as it is, or
/// does not say that it takes anything else.
pub fn accepted<'v>(values: impl Iterator<Item = &'v [u8]>) -> Codings {
    let (mut weights, mut others, mut as_it_is) = ([None; Coding::ALL.len()], None, None);
    for element in values.flat_map(|value| value.split(|&byte| byte == b',')) {
        let mut parts = element.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        // What cannot be read is no consent.
        let weight = parts.find_map(weight_in).unwrap_or(Some(FULL)).unwrap_or(0);
        match Coding::named(name) {
            Some(coding) => weights[coding as usize] = Some(weight),
            None if name == b"*" => others = Some(weight),
            None if name.eq_ignore_ascii_case(b"identity") => as_it_is = Some(weight),
            None => {}
        }
    }
    let weight = |coding: Coding| weights[coding as usize].or(others).unwrap_or(0);
    let mut all = Coding::ALL.map(|coding| (weight(coding), coding));
    // Stable: of equals, the one that is better for us.
    all.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let mut taken = all.into_iter().filter(|(weight, _)| *weight > 0 && *weight >= as_it_is.unwrap_or(0));
    Codings(std::array::from_fn(|_| taken.next().map(|(_, coding)| coding)))
}

/// The weight in a parameter; the inner `None`: it cannot be read.
fn weight_in(parameter: &[u8]) -> Option<Option<Weight>> {
    let (name, value) = parameter.split_at_checked(2)?;
    name.eq_ignore_ascii_case(b"q=").then(|| thousandths(value))
}

fn thousandths(value: &[u8]) -> Option<Weight> {
    let (whole, digits) = match value {
        [whole @ (b'0' | b'1')] => (*whole, &b""[..]),
        [whole @ (b'0' | b'1'), b'.', digits @ ..] if digits.len() <= 3 => (*whole, digits),
        _ => return None,
    };
    let mut weight = if whole == b'1' { FULL } else { 0 };
    for (digit, unit) in digits.iter().zip([100, 10, 1]) {
        weight += Weight::from(digit.is_ascii_digit().then(|| digit - b'0')?) * unit;
    }
    (weight <= FULL).then_some(weight)
}
